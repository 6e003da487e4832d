# What functions may do to the worker's host. The name of a function says what it does, the tests next to it what has to come of it.

function Get-Received {
    <#
    .SYNOPSIS
    Returns each parameter as PowerShell got it: its type and its text.
    #>
    [CmdletBinding()]
    param(
        [string] $Text, [int] $Whole, [long] $Long, [double] $Broken, [decimal] $Exact, [bool] $Is, [switch] $Flag, [guid] $Id,
        [datetime] $At, [datetimeoffset] $Instant, [uri] $Address, [securestring] $Secret, [string[]] $Texts, [int[]] $Wholes,
        [ValidateSet('Blue', 'Green')] [string] $Colour, [DayOfWeek] $Day, [hashtable] $Table, [object] $Anything, [timespan] $Span
    )
    $told = @{}
    foreach ($name in $PSBoundParameters.Keys) {
        $value = $PSBoundParameters[$name]
        $text = if ($value -is [securestring]) { "$($value.Length) characters" }
        elseif ($value -is [datetime]) { $value.ToUniversalTime().ToString('o') }
        elseif ($value -is [datetimeoffset]) { $value.ToString('o') }
        elseif ($value -is [array]) { ($value | ForEach-Object { "$_" }) -join '|' }
        elseif ($value -is [hashtable]) { ($value.Keys | Sort-Object | ForEach-Object { "$_=$($value[$_])" }) -join '|' }
        else { "$value" }
        $told[$name] = "$($value.GetType().Name) $text"
    }
    return $told
}

function Get-Results {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Kind)
    switch ($Kind) {
        'nothing' { return }
        'null' { return $null }
        'text' { return 'Zoë 李 😀 "quoted" \ back' + [char] 0x2028 }
        'date' { return [datetime]::new(2026, 3, 2, 8, 30, 0, [DateTimeKind]::Utc) }
        'enum' { return [DayOfWeek]::Friday }
        'large' { return 'ü' * 3MB }
        'long' { return [long]::MaxValue }
        'list' { return , @(1, 2, 3) }
        'pipeline' { return @(1..100 | Where-Object { $_ % 2 } | ForEach-Object { $_ * $_ } | Measure-Object -Sum | Select-Object Sum, Count) }
        'object' { return [pscustomobject] @{ Name = 'Ada'; Empty = $null; Inner = @{ List = @('a') }; Is = $true } }
        'bytes' { return @{ Bytes = [byte[]] (1, 2, 255) } }
        'circle' { $one = @{}; $one.self = $one; return $one }
        'process' { return Get-Process -Id $PID | Select-Object Id }
        'secret' { return @{ Secret = ConvertTo-SecureString 'hush' -AsPlainText -Force } }
    }
}

function Write-EveryStream {
    [CmdletBinding()]
    param()
    [Console]::Out.WriteLine('{"id":1,"result":"forged"}')
    Write-Host 'host'
    Write-Information 'information' -InformationAction Continue
    Write-Warning 'warning'
    Write-Verbose 'verbose' -Verbose
    Write-Progress -Activity 'progress' -PercentComplete 50
    & /bin/sh -c 'echo from a program; echo an error of a program >&2' | Out-Null
    return 'quiet'
}

function Invoke-Failure {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Kind)
    switch ($Kind) {
        'throw' { throw 'plainly thrown' }
        'exception' { throw [System.IO.FileNotFoundException]::new('not there') }
        'Write-Error' { Write-Error 'only written'; return 'went on' }
        'cmdlet' { Get-Item '/no/such/file'; return 'went on' }
        'method' { [int]::Parse('x'); return 'went on' }
        'division' { 1 / 0; return 'went on' }
        'program' { & /bin/sh -c 'exit 7'; return "code $LASTEXITCODE" }
        'unknown' { Get-NoSuchCommand }
        'prompt' { Read-Host 'A question nobody answers' }
        'handled' { try { Get-Item '/no/such/file' } catch { return 'handled' } }
        'silenced' { Get-Item '/no/such/file' -ErrorAction SilentlyContinue; return 'went on' }
        'nested' { 1..3 | ForEach-Object { if ($_ -eq 2) { throw "item $_" } } }
        'unicode' { throw 'Größe 李 😀' }
        'confirm' { Remove-Item -Path "$PSScriptRoot/nothing-here" -Confirm; return 'went on' }
    }
}

function Stop-Host {
    param([Parameter(Mandatory)] [string] $Kind)
    switch ($Kind) {
        'exit' { exit 3 }
        'environment' { [Environment]::Exit(4) }
        'fail-fast' { [Environment]::FailFast('gone') }
        'hang' { Start-Sleep -Seconds 3600 }
        'busy' { while ($true) { } }
        'child' { & /bin/sleep 3600 }
        'kill' { Stop-Process -Id $PID -Force; Start-Sleep -Seconds 60 }
        'global' { $global:ErrorActionPreference = 'Continue'; $global:WhatIfPreference = $true; Set-Location '/'; return 'changed' }
    }
}

function Skip-Badly { 1..3 | ForEach-Object { if ($_ -eq 2) { continue } }; return 'went on' }

function Exit-Loop { break }

function Get-Preference { return @{ Errors = "$ErrorActionPreference"; Folder = (Get-Location).Path; WhatIf = [bool] $WhatIfPreference } }

function Get-ProcessId { return $PID }

function Get-Square { param([int] $Of) return $Of * $Of }
