"""Is this script to contract?"""
