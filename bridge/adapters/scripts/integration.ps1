# What ralph-bridge loads into PowerShell 7: announcements of prompts (OSC 633), each ending in a nonce and the prompt's number.
$global:__rb_nonce = '{nonce}'
$global:__rb_number = 0
$global:__rb_before = $function:prompt
function global:__rb_mark([string] $payload) { "$([char]27)]633;$payload;$global:__rb_nonce.$global:__rb_number$([char]7)" }
function global:prompt {
    $ok = $?
    $code = if ($ok) { 0 } elseif ($global:LASTEXITCODE) { $global:LASTEXITCODE } else { 1 }
    [Console]::Write((__rb_mark "D;$code") + (__rb_mark "P;Cwd=$($PWD.ProviderPath)"))
    $global:__rb_number++
    [Console]::Write((__rb_mark 'A'))
    (& $global:__rb_before) + (__rb_mark 'B')
}
