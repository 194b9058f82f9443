"""The checks, by what they are about; `bridge.verify.registry` knows them all."""
