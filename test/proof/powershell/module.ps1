# Uses the cmdlets as a person at a prompt does, and tells what came of each, one JSON value a line.
param([string] $Module, [string] $Url, [long] $BatchId, [long] $OtherBatchId)
$ErrorActionPreference = 'Stop'

function Tell([string] $What, $Value) { ConvertTo-Json -Compress -Depth 6 -InputObject @{ what = $What; value = $Value } }

function Tell-Failure([string] $What, [scriptblock] $Run) {
    try { $null = & $Run; Tell $What 'no error' }
    catch { Tell $What @{ id = $_.FullyQualifiedErrorId; message = $_.Exception.Message; category = "$($_.CategoryInfo.Category)" } }
}

$warnings = @()
Import-Module $Module -WarningVariable warnings
Tell 'warnings' @($warnings)
Tell-Failure 'not connected' { Get-MatStatus }
$who = Connect-Matoolkit -Url $Url -Token (ConvertTo-SecureString $env:JUDGED_TOKEN -AsPlainText -Force)
Tell 'connected' $who.name
Tell-Failure 'without https' { Connect-Matoolkit -Url 'http://contoso.example' -Token (ConvertTo-SecureString 'x' -AsPlainText -Force) }

$verbs = (Get-Verb).Verb
$commands = Get-Command -Module Matoolkit
Tell 'unapproved' @($commands | Where-Object { $_.Verb -notin $verbs } | ForEach-Object Name)
Tell 'without help' @($commands | Where-Object {
        $help = Get-Help $_.Name
        -not $help.Synopsis -or $help.Synopsis.Trim().StartsWith($_.Name) -or -not $help.examples
    } | ForEach-Object Name)
Tell 'help' ((Get-Help Suspend-MatWork -Full | Out-String) -match 'POST /api/holds')
$asked = 'Get-MatBatch -Status '
Tell 'completion' @([System.Management.Automation.CommandCompletion]::CompleteInput($asked, $asked.Length, $null).CompletionMatches.CompletionText)

Tell 'pages' @(Get-MatMember -BatchId $BatchId -Limit 2 | ForEach-Object memberKey)
Tell 'pipeline' @([pscustomobject] @{ BatchId = $BatchId }, [pscustomobject] @{ BatchId = $OtherBatchId } | Get-MatBatch | ForEach-Object { $_.batch.id })
Tell 'filter' @(Get-MatMember -BatchId $BatchId -Status failed).Count
Tell-Failure 'unknown' { Get-MatBatch -BatchId 999999 }
Tell-Failure 'choice' { Get-MatBatch -Status nonsense }
Tell-Failure 'id of a person' { [pscustomobject] @{ Id = $BatchId } | Stop-MatBatch -Reason 'not this' -Confirm:$false -ErrorAction Stop }

Tell 'what if' @(Suspend-MatWork -Scope batch -Target "$BatchId" -Reason 'only asked' -WhatIf)
Tell 'held after what if' @(Get-MatHold).Count
$null = Suspend-MatWork -Scope batch -Target "$BatchId" -Reason 'mail flow looks odd: Größe 李 😀' -Confirm:$false
Tell 'held' @(Get-MatHold | ForEach-Object reason)
Tell-Failure 'asks' { Stop-MatBatch -BatchId $BatchId -Reason 'a mistake' }
Tell 'tried' ($null -ne (Stop-MatBatch -BatchId $BatchId -Reason 'only tried' -DryRun $true -Confirm:$false))
Tell 'status after' (Get-MatBatch -BatchId $BatchId).batch.status
$null = Stop-MatBatch -BatchId $BatchId -Reason 'meant' -Confirm:$false
Tell 'status at the end' (Get-MatBatch -BatchId $BatchId).batch.status
Tell 'status next door' (Get-MatBatch -BatchId $OtherBatchId).batch.status
Disconnect-Matoolkit
Tell-Failure 'disconnected' { Get-MatStatus }
