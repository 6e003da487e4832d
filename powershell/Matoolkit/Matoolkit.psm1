# Cmdlets over the admin API of matoolkit. Generated from the table of routes by `npm run docs`.

Set-StrictMode -Version 2

$script:MatSession = $null

function Connect-Matoolkit {
    <#
    .SYNOPSIS
    Remember the address of the API and the token for this session.
    .DESCRIPTION
    The token stays in memory, protected as far as SecureString does that. It is not sent without https to another machine.
    .PARAMETER Url
    The address of the API.
    .PARAMETER Token
    An access token; "matoolkit auth token" prints one.
    .EXAMPLE
    Connect-Matoolkit -Url https://matoolkit.contoso.example -Token (Read-Host -AsSecureString)
    #>
    [CmdletBinding()]
    param(
        [Parameter(Mandatory = $true)] [uri] $Url,
        [Parameter(Mandatory = $true)] [securestring] $Token
    )
    if ($Url.Scheme -ne 'https' -and -not $Url.IsLoopback) {
        throw "Cannot send a token to ${Url}: without https others could read it. Use an https address."
    }
    # Windows PowerShell does not offer TLS 1.2 by itself on older machines.
    if ($PSVersionTable.PSVersion.Major -lt 6) {
        [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
    }
    $script:MatSession = @{ Url = $Url.AbsoluteUri.TrimEnd('/'); Token = $Token }
    Get-MatIdentity
}

function Disconnect-Matoolkit {
    <#
    .SYNOPSIS
    Forget the address and the token.
    #>
    [CmdletBinding()]
    param()
    $script:MatSession = $null
}

# The value of a parameter as the API reads it in an address: lists are a,b and booleans lower case.
function ConvertTo-MatText {
    param($Value)
    if ($Value -is [bool]) { return $Value.ToString().ToLowerInvariant() }
    if ($Value -is [datetime]) { return $Value.ToUniversalTime().ToString('o') }
    if ($Value -is [array]) { return ($Value -join ',') }
    return [string]$Value
}

# The names of the API begin with a small letter.
function ConvertTo-MatName {
    param([string] $Name)
    if ($script:MatNames.ContainsKey($Name)) { return $script:MatNames[$Name] }
    return $Name.Substring(0, 1).ToLowerInvariant() + $Name.Substring(1)
}

# A file and the other fields as a form: Windows PowerShell cannot build one.
function ConvertTo-MatForm {
    param([hashtable] $Fields, [string] $Boundary)
    $stream = New-Object System.IO.MemoryStream
    foreach ($name in $Fields.Keys) {
        $head = "--$Boundary`r`nContent-Disposition: form-data; name=`"$name`""
        if ($name -eq 'file') {
            $file = (Resolve-Path -LiteralPath $Fields[$name]).ProviderPath
            $head += "; filename=`"members.csv`"`r`nContent-Type: text/csv"
            $content = [System.IO.File]::ReadAllBytes($file)
        }
        else { $content = [System.Text.Encoding]::UTF8.GetBytes((ConvertTo-MatText $Fields[$name])) }
        $bytes = [System.Text.Encoding]::UTF8.GetBytes("$head`r`n`r`n")
        $stream.Write($bytes, 0, $bytes.Length)
        $stream.Write($content, 0, $content.Length)
        $stream.Write([byte[]](13, 10), 0, 2)
    }
    $end = [System.Text.Encoding]::UTF8.GetBytes("--$Boundary--`r`n")
    $stream.Write($end, 0, $end.Length)
    return , $stream.ToArray()
}

# A refusal as an error record: its id is the code of the API.
function New-MatError {
    param($Failure, [string] $Uri)
    $problem = $null
    if ($Failure.ErrorDetails -and $Failure.ErrorDetails.Message) {
        try { $problem = $Failure.ErrorDetails.Message | ConvertFrom-Json } catch { $problem = $null }
    }
    $code = 'UNREACHABLE'
    $message = "The API at $Uri does not answer: $($Failure.Exception.Message)"
    if ($problem -and $problem.PSObject.Properties['code']) {
        $code = $problem.code
        $message = $problem.detail
    }
    $exception = New-Object System.InvalidOperationException $message, $Failure.Exception
    return New-Object System.Management.Automation.ErrorRecord $exception, $code, 'InvalidOperation', $Uri
}

# Sends one request, and for a list one for each page. Rows go to the pipeline as they come. Nothing is sent twice.
function Invoke-MatRequest {
    [CmdletBinding()]
    param(
        [string] $Method, [string] $Path, [System.Collections.IDictionary] $Bound,
        [string[]] $InPath, [string[]] $InQuery, [string[]] $InBody,
        [switch] $Creates, [switch] $Upload, [switch] $Paged
    )
    if (-not $script:MatSession) { throw 'Not connected. Run Connect-Matoolkit first.' }
    foreach ($name in $InPath) {
        $Path = $Path.Replace('{' + (ConvertTo-MatName $name) + '}', [uri]::EscapeDataString((ConvertTo-MatText $Bound[$name])))
    }
    $query = @{}
    foreach ($name in $InQuery) {
        if ($Bound.Contains($name)) { $query[(ConvertTo-MatName $name)] = ConvertTo-MatText $Bound[$name] }
    }
    $body = @{}
    foreach ($name in $InBody) {
        if ($Bound.Contains($name)) { $body[(ConvertTo-MatName $name)] = $Bound[$name] }
    }
    $token = (New-Object System.Net.NetworkCredential '', $script:MatSession.Token).Password
    $request = @{ Method = $Method; UseBasicParsing = $true; Headers = @{ Authorization = "Bearer $token" }; ErrorAction = 'Stop' }
    if ($Creates) { $request.Headers['Idempotency-Key'] = [guid]::NewGuid().ToString() }
    if ($Upload) {
        $boundary = [guid]::NewGuid().ToString('N')
        $request.ContentType = "multipart/form-data; boundary=$boundary"
        $request.Body = ConvertTo-MatForm -Fields $body -Boundary $boundary
    }
    elseif ($InBody.Count -gt 0) {
        $request.ContentType = 'application/json'
        $request.Body = [System.Text.Encoding]::UTF8.GetBytes((ConvertTo-Json -InputObject $body -Depth 20 -Compress))
    }
    while ($true) {
        $pairs = @($query.Keys | ForEach-Object { "$_=" + [uri]::EscapeDataString($query[$_]) })
        $uri = $script:MatSession.Url + $Path
        if ($pairs.Count -gt 0) { $uri += '?' + ($pairs -join '&') }
        try { $response = Invoke-WebRequest @request -Uri $uri }
        catch { $PSCmdlet.ThrowTerminatingError((New-MatError -Failure $_ -Uri $uri)) }
        if ([string]$response.Headers['Content-Type'] -notmatch 'json') { return $response.Content }
        $answer = $response.Content | ConvertFrom-Json
        $list = @($answer.PSObject.Properties | Where-Object { $_.Value -is [array] })
        if (-not $Paged -or -not $answer.PSObject.Properties['next'] -or $list.Count -ne 1) { return $answer }
        $list[0].Value
        if (-not $answer.next) { return }
        $query['cursor'] = $answer.next
    }
}

$script:MatNames = @{ ErrorText = 'error' }

function Add-MatMember {
    <#
    .SYNOPSIS
    Add the members of a file (CSV) to a manual batch; they catch up on started phases.
    .DESCRIPTION
    POST /api/batches/{batchId}/members. Removed members are taken back; active and failed members are skipped.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER DryRun
    The dry run.
    .PARAMETER File
    The file.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Add-MatMember -BatchId <long> -File <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'addMembers', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'addMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'addMembers')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'addMembers', Mandatory = $true)]
        [string] $File,
        [Parameter(ParameterSetName = 'addMembers')]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'addMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Add the members of a file (CSV) to a manual batch; they catch up on started phases')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @('DryRun') -InBody @('File', 'Reason') -Creates -Upload
                }
            }
        }
    }
}

function Approve-MatGate {
    <#
    .SYNOPSIS
    Approve the start of a phase.
    .DESCRIPTION
    POST /api/batches/{batchId}/gates/{phaseName}/approve. Counts once for each person, and not for the publisher of the batch's version. It is void when the version, the members or the phase's time change.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER PhaseName
    The phase name.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Approve-MatGate -BatchId <long> -PhaseName <string> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'approveGate', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'approveGate', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'approveGate', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $PhaseName,
        [Parameter(ParameterSetName = 'approveGate', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'approveGate')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'approveGate' {
                if ($PSCmdlet.ShouldProcess("$BatchId $PhaseName", 'Approve the start of a phase')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/gates/{phaseName}/approve' -Bound $PSBoundParameters -InPath @('BatchId', 'PhaseName') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Approve-MatLateResult {
    <#
    .SYNOPSIS
    Accept a late success as the step’s result.
    .DESCRIPTION
    POST /api/steps/{stepId}/accept-late.
    .PARAMETER StepId
    The step id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    The dry run.
    .EXAMPLE
    Approve-MatLateResult -StepId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'acceptLateResult', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'acceptLateResult', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $StepId,
        [Parameter(ParameterSetName = 'acceptLateResult', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'acceptLateResult')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'acceptLateResult' {
                if ($PSCmdlet.ShouldProcess("$StepId", 'Accept a late success as the step''s result')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/steps/{stepId}/accept-late' -Bound $PSBoundParameters -InPath @('StepId') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Approve-MatReview {
    <#
    .SYNOPSIS
    Make the changes that the source asks for.
    .DESCRIPTION
    POST /api/reviews/approve. All reviews in a call are of one kind. removal: the members leave their batches. join: the latecomers join, and an ended batch opens again. move: all lead from one batch to one time; `choice` says whether the whole batch is rescheduled or its members move, and is required when the whole wave has a new date. Batches on hold for the moves resume. Phases whose new time has passed start at once: a move is refused with their names unless `allowOverdue` is true.
    .PARAMETER ReviewIds
    The review ids.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    The dry run.
    .PARAMETER Kind
    Refuse reviews of any other kind.
    .PARAMETER Choice
    Only for moves.
    .PARAMETER AllowOverdue
    Only for moves.
    .EXAMPLE
    Approve-MatReview -ReviewIds <long[]> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'approveReviews', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'approveReviews', Mandatory = $true)]
        [long[]] $ReviewIds,
        [Parameter(ParameterSetName = 'approveReviews', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'approveReviews')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'approveReviews')]
        [ValidateSet('removal', 'move', 'join')] [string] $Kind,
        [Parameter(ParameterSetName = 'approveReviews')]
        [ValidateSet('reschedule', 'move')] [string] $Choice,
        [Parameter(ParameterSetName = 'approveReviews')]
        [bool] $AllowOverdue
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'approveReviews' {
                if ($PSCmdlet.ShouldProcess('matoolkit', 'Make the changes that the source asks for')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/reviews/approve' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @('ReviewIds', 'Reason', 'DryRun', 'Kind', 'Choice', 'AllowOverdue')
                }
            }
        }
    }
}

function Clear-MatDeadLetter {
    <#
    .SYNOPSIS
    Discard a dead letter; it is kept as a record.
    .DESCRIPTION
    POST /api/dead-letters/{deadLetterId}/discard.
    .PARAMETER DeadLetterId
    The dead letter id.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Clear-MatDeadLetter -DeadLetterId <string> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'discardDeadLetter', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'discardDeadLetter', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $DeadLetterId,
        [Parameter(ParameterSetName = 'discardDeadLetter', Mandatory = $true)]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'discardDeadLetter' {
                if ($PSCmdlet.ShouldProcess("$DeadLetterId", 'Discard a dead letter; it is kept as a record')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/dead-letters/{deadLetterId}/discard' -Bound $PSBoundParameters -InPath @('DeadLetterId') -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Complete-MatMemberStep {
    <#
    .SYNOPSIS
    Mark a step of members as done by hand, with outputs; they continue after it.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/done.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER Reason
    The reason.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .PARAMETER Step
    The step to pass; by default `failedStep`, or the step that failed.
    .PARAMETER Outputs
    The outputs.
    .EXAMPLE
    Complete-MatMemberStep -BatchId <long> -Select <object> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'markMembersDone', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'markMembersDone', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'markMembersDone', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'markMembersDone')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'markMembersDone', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'markMembersDone')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'markMembersDone')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'markMembersDone')]
        [string] $Step,
        [Parameter(ParameterSetName = 'markMembersDone')]
        [object] $Outputs
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'markMembersDone' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Mark a step of members as done by hand, with outputs; they continue after it')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/done' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun', 'Step', 'Outputs')
                }
            }
        }
    }
}

function Complete-MatStep {
    <#
    .SYNOPSIS
    Mark a step as done by hand, with outputs; its member continues after it.
    .DESCRIPTION
    POST /api/steps/{stepId}/done.
    .PARAMETER StepId
    The step id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    The dry run.
    .PARAMETER Outputs
    The outputs.
    .EXAMPLE
    Complete-MatStep -StepId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'markStepDone', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'markStepDone', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $StepId,
        [Parameter(ParameterSetName = 'markStepDone', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'markStepDone')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'markStepDone')]
        [object] $Outputs
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'markStepDone' {
                if ($PSCmdlet.ShouldProcess("$StepId", 'Mark a step as done by hand, with outputs; its member continues after it')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/steps/{stepId}/done' -Bound $PSBoundParameters -InPath @('StepId') -InQuery @() -InBody @('Reason', 'DryRun', 'Outputs')
                }
            }
        }
    }
}

function Copy-MatBatch {
    <#
    .SYNOPSIS
    Create a manual batch from another batch’s finished members.
    .DESCRIPTION
    POST /api/batches/{batchId}/clone. Uses the active version. Members keep their data and lose their outputs. A member cannot be active in two unfinished batches, so it must have finished here.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Statuses
    Member statuses to clone.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Copy-MatBatch -BatchId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'cloneBatch', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'cloneBatch', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'cloneBatch')]
        [ValidateSet('active', 'failed', 'removed')] [string[]] $Statuses,
        [Parameter(ParameterSetName = 'cloneBatch', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'cloneBatch')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'cloneBatch' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Create a manual batch from another batch''s finished members')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/clone' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Statuses', 'Reason', 'DryRun') -Creates
                }
            }
        }
    }
}

function Deny-MatReview {
    <#
    .SYNOPSIS
    Keep everything as it is, against the source.
    .DESCRIPTION
    POST /api/reviews/dismiss. Leavers stay, latecomers stay out, movers stay in their batch. Batches on hold for the moves resume.
    .PARAMETER ReviewIds
    The review ids.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    The dry run.
    .EXAMPLE
    Deny-MatReview -ReviewIds <long[]> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'dismissReviews', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'dismissReviews', Mandatory = $true)]
        [long[]] $ReviewIds,
        [Parameter(ParameterSetName = 'dismissReviews', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'dismissReviews')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'dismissReviews' {
                if ($PSCmdlet.ShouldProcess('matoolkit', 'Keep everything as it is, against the source')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/reviews/dismiss' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @('ReviewIds', 'Reason', 'DryRun')
                }
            }
        }
    }
}

function Disable-MatRunbookVersion {
    <#
    .SYNOPSIS
    Deactivate a version; unfinished batches finish.
    .DESCRIPTION
    DELETE /api/runbooks/{name}/versions/{version}.
    .PARAMETER Name
    The name.
    .PARAMETER Version
    The version.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Disable-MatRunbookVersion -Name <string> -Version <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'deactivateRunbookVersion', SupportsShouldProcess = $true, ConfirmImpact = 'High')]
    param(
        [Parameter(ParameterSetName = 'deactivateRunbookVersion', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'deactivateRunbookVersion', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $Version,
        [Parameter(ParameterSetName = 'deactivateRunbookVersion')]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'deactivateRunbookVersion' {
                if ($PSCmdlet.ShouldProcess("$Name $Version", 'Deactivate a version; unfinished batches finish')) {
                    Invoke-MatRequest -Method 'DELETE' -Path '/api/runbooks/{name}/versions/{version}' -Bound $PSBoundParameters -InPath @('Name', 'Version') -InQuery @('Reason') -InBody @()
                }
            }
        }
    }
}

function Find-MatMember {
    <#
    .SYNOPSIS
    Find people over all batches by key, address, another value or state.
    .DESCRIPTION
    GET /api/members. With a text, newest batch first. An address is found whole or by its beginning, any other text anywhere in keys and data. If nobody has it, those who have its beginning are near misses. With the role HelpDesk alone only a whole key or address finds anybody. Without a text everybody, batch by batch and page by page. With `notCutOver` who has still to be cut over, each once: who failed in one batch and is in a later one of the runbook is listed there.
    .PARAMETER Limit
    The limit.
    .PARAMETER Text
    Key, address or other value.
    .PARAMETER State
    One or more of scheduled, preparing, cutting_over, cut_over, done, failed, rolled_back, stopped, removed, comma-separated.
    .PARAMETER NotCutOver
    Only people who have still to be cut over.
    .PARAMETER Runbook
    The runbook.
    .EXAMPLE
    Find-MatMember
    #>
    [CmdletBinding(DefaultParameterSetName = 'findMembers')]
    param(
        [Parameter(ParameterSetName = 'findMembers')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'findMembers')]
        [string] $Text,
        [Parameter(ParameterSetName = 'findMembers')]
        [ValidateSet('scheduled', 'preparing', 'cutting_over', 'cut_over', 'done', 'failed', 'rolled_back', 'stopped', 'removed')] [string[]] $State,
        [Parameter(ParameterSetName = 'findMembers')]
        [bool] $NotCutOver,
        [Parameter(ParameterSetName = 'findMembers')]
        [string] $Runbook
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'findMembers' { Invoke-MatRequest -Method 'GET' -Path '/api/members' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit', 'Text', 'State', 'NotCutOver', 'Runbook') -InBody @() -Paged }
        }
    }
}

function Get-MatAction {
    <#
    .SYNOPSIS
    List changes of many members, newest first. Show a change of many members and what has become of them.
    .DESCRIPTION
    GET /api/actions.
    GET /api/actions/{actionId}.
    .PARAMETER Limit
    The limit.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Action
    Such as `members.retry`.
    .PARAMETER ActionId
    The action id.
    .EXAMPLE
    Get-MatAction
    #>
    [CmdletBinding(DefaultParameterSetName = 'listActions')]
    param(
        [Parameter(ParameterSetName = 'listActions')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listActions')]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'listActions')]
        [string] $Action,
        [Parameter(ParameterSetName = 'getAction', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $ActionId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listActions' { Invoke-MatRequest -Method 'GET' -Path '/api/actions' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit', 'BatchId', 'Action') -InBody @() -Paged }
            'getAction' { Invoke-MatRequest -Method 'GET' -Path '/api/actions/{actionId}' -Bound $PSBoundParameters -InPath @('ActionId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatActionMember {
    <#
    .SYNOPSIS
    List the members of a change and where they stand now.
    .DESCRIPTION
    GET /api/actions/{actionId}/members.
    .PARAMETER ActionId
    The action id.
    .PARAMETER Limit
    The limit.
    .PARAMETER Result
    The result.
    .PARAMETER State
    One or more of scheduled, preparing, cutting_over, cut_over, done, failed, rolled_back, stopped, removed, comma-separated.
    .EXAMPLE
    Get-MatActionMember -ActionId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listActionMembers')]
    param(
        [Parameter(ParameterSetName = 'listActionMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $ActionId,
        [Parameter(ParameterSetName = 'listActionMembers')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listActionMembers')]
        [ValidateSet('done', 'refused')] [string] $Result,
        [Parameter(ParameterSetName = 'listActionMembers')]
        [ValidateSet('scheduled', 'preparing', 'cutting_over', 'cut_over', 'done', 'failed', 'rolled_back', 'stopped', 'removed')] [string[]] $State
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listActionMembers' { Invoke-MatRequest -Method 'GET' -Path '/api/actions/{actionId}/members' -Bound $PSBoundParameters -InPath @('ActionId') -InQuery @('Limit', 'Result', 'State') -InBody @() -Paged }
        }
    }
}

function Get-MatAudit {
    <#
    .SYNOPSIS
    List who did what, newest first.
    .DESCRIPTION
    GET /api/audit.
    .PARAMETER Limit
    The limit.
    .PARAMETER Actor
    The actor.
    .PARAMETER Action
    The action.
    .PARAMETER Subject
    The subject.
    .PARAMETER Reads
    False leaves out reads of personal data (default: true).
    .PARAMETER From
    The from.
    .PARAMETER Before
    The before.
    .EXAMPLE
    Get-MatAudit
    #>
    [CmdletBinding(DefaultParameterSetName = 'listAudit')]
    param(
        [Parameter(ParameterSetName = 'listAudit')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listAudit')]
        [string] $Actor,
        [Parameter(ParameterSetName = 'listAudit')]
        [string] $Action,
        [Parameter(ParameterSetName = 'listAudit')]
        [string] $Subject,
        [Parameter(ParameterSetName = 'listAudit')]
        [bool] $Reads,
        [Parameter(ParameterSetName = 'listAudit')]
        [string] $From,
        [Parameter(ParameterSetName = 'listAudit')]
        [string] $Before
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listAudit' { Invoke-MatRequest -Method 'GET' -Path '/api/audit' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit', 'Actor', 'Action', 'Subject', 'Reads', 'From', 'Before') -InBody @() -Paged }
        }
    }
}

function Get-MatAutomation {
    <#
    .SYNOPSIS
    Show whether the scheduler runs the runbook’s query, and who decided it.
    .DESCRIPTION
    GET /api/runbooks/{name}/automation.
    .PARAMETER Name
    The name.
    .EXAMPLE
    Get-MatAutomation -Name <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'getAutomation')]
    param(
        [Parameter(ParameterSetName = 'getAutomation', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getAutomation' { Invoke-MatRequest -Method 'GET' -Path '/api/runbooks/{name}/automation' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatBatch {
    <#
    .SYNOPSIS
    List batches, newest first by default. Show a batch with its phases and init steps.
    .DESCRIPTION
    GET /api/batches.
    GET /api/batches/{batchId}.
    .PARAMETER Limit
    The limit.
    .PARAMETER Runbook
    The runbook.
    .PARAMETER Status
    One or more of detected, init_dispatched, active, completed, failed, cancelled, comma-separated.
    .PARAMETER Manual
    The manual.
    .PARAMETER Held
    The held.
    .PARAMETER StartsFrom
    The starts from.
    .PARAMETER StartsBefore
    The starts before.
    .PARAMETER Sort
    The sort.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Get-MatBatch
    #>
    [CmdletBinding(DefaultParameterSetName = 'listBatches')]
    param(
        [Parameter(ParameterSetName = 'listBatches')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listBatches')]
        [string] $Runbook,
        [Parameter(ParameterSetName = 'listBatches')]
        [ValidateSet('detected', 'init_dispatched', 'active', 'completed', 'failed', 'cancelled')] [string[]] $Status,
        [Parameter(ParameterSetName = 'listBatches')]
        [bool] $Manual,
        [Parameter(ParameterSetName = 'listBatches')]
        [bool] $Held,
        [Parameter(ParameterSetName = 'listBatches')]
        [string] $StartsFrom,
        [Parameter(ParameterSetName = 'listBatches')]
        [string] $StartsBefore,
        [Parameter(ParameterSetName = 'listBatches')]
        [ValidateSet('newest', 'oldest', 'start', 'start_latest')] [string] $Sort,
        [Parameter(ParameterSetName = 'getBatch', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listBatches' { Invoke-MatRequest -Method 'GET' -Path '/api/batches' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit', 'Runbook', 'Status', 'Manual', 'Held', 'StartsFrom', 'StartsBefore', 'Sort') -InBody @() -Paged }
            'getBatch' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatBatchEvidence {
    <#
    .SYNOPSIS
    Get everything about a batch as one signed archive.
    .DESCRIPTION
    GET /api/batches/{batchId}/evidence. A tar archive, compressed with gzip, that `matoolkit evidence verify` checks offline; docs/security.md explains it. It is written while it is sent; one that ends early cuts the connection.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Get-MatBatchEvidence -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'getBatchEvidence')]
    param(
        [Parameter(ParameterSetName = 'getBatchEvidence', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getBatchEvidence' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/evidence' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatBatchReport {
    <#
    .SYNOPSIS
    Get the report of a batch as JSON, CSV or a page.
    .DESCRIPTION
    GET /api/batches/{batchId}/report. The format follows `format`, or else the header `Accept`. Every member is in it, sent page by page; a report that ends early cuts the connection.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Format
    The format.
    .PARAMETER Zone
    The zone of the times that people read.
    .PARAMETER Internal
    Also history, and who did what: not for a customer.
    .EXAMPLE
    Get-MatBatchReport -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'getBatchReport')]
    param(
        [Parameter(ParameterSetName = 'getBatchReport', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'getBatchReport')]
        [ValidateSet('json', 'csv', 'html')] [string] $Format,
        [Parameter(ParameterSetName = 'getBatchReport')]
        [string] $Zone,
        [Parameter(ParameterSetName = 'getBatchReport')]
        [bool] $Internal
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getBatchReport' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/report' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @('Format', 'Zone', 'Internal') -InBody @() -Paged }
        }
    }
}

function Get-MatBatchSummary {
    <#
    .SYNOPSIS
    Summarize a batch: progress, throughput, estimated end.
    .DESCRIPTION
    GET /api/batches/{batchId}/summary.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Get-MatBatchSummary -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'getBatchSummary')]
    param(
        [Parameter(ParameterSetName = 'getBatchSummary', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getBatchSummary' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/summary' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatCatalogue {
    <#
    .SYNOPSIS
    List the functions of workers with their parameters.
    .DESCRIPTION
    GET /api/catalogues. Runbooks are checked against these. The first page begins with what the program brings along, without a worker’s id; each has 20 workers.
    .PARAMETER WorkerId
    Only of this worker.
    .EXAMPLE
    Get-MatCatalogue
    #>
    [CmdletBinding(DefaultParameterSetName = 'listCatalogues')]
    param(
        [Parameter(ParameterSetName = 'listCatalogues')]
        [string] $WorkerId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listCatalogues' { Invoke-MatRequest -Method 'GET' -Path '/api/catalogues' -Bound $PSBoundParameters -InPath @() -InQuery @('WorkerId') -InBody @() -Paged }
        }
    }
}

function Get-MatChannel {
    <#
    .SYNOPSIS
    List the channels of notifications, which fail, and what each hears of.
    .DESCRIPTION
    GET /api/channels. Those of the file that this API has (MATOOLKIT_NOTIFICATIONS_FILE). Rules are of that file, then of the active runbooks, of the first 500 by name.

    .EXAMPLE
    Get-MatChannel
    #>
    [CmdletBinding(DefaultParameterSetName = 'listChannels')]
    param(

    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listChannels' { Invoke-MatRequest -Method 'GET' -Path '/api/channels' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatCondition {
    <#
    .SYNOPSIS
    List the open conditions that a rule names, oldest first.
    .DESCRIPTION
    GET /api/conditions.
    .PARAMETER Limit
    The limit.
    .EXAMPLE
    Get-MatCondition
    #>
    [CmdletBinding(DefaultParameterSetName = 'listConditions')]
    param(
        [Parameter(ParameterSetName = 'listConditions')]
        [long] $Limit
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listConditions' { Invoke-MatRequest -Method 'GET' -Path '/api/conditions' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit') -InBody @() -Paged }
        }
    }
}

function Get-MatDatabaseRole {
    <#
    .SYNOPSIS
    List the database roles with missing and needless rights.
    .DESCRIPTION
    GET /api/database-roles.

    .EXAMPLE
    Get-MatDatabaseRole
    #>
    [CmdletBinding(DefaultParameterSetName = 'listDatabaseRoles')]
    param(

    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listDatabaseRoles' { Invoke-MatRequest -Method 'GET' -Path '/api/database-roles' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatDeadLetter {
    <#
    .SYNOPSIS
    List messages that could not be handled, oldest first. Show a dead letter with its body.
    .DESCRIPTION
    GET /api/dead-letters. Orchestrator messages come first, then the jobs of each worker. A page may be short or empty and still have a next page.
    GET /api/dead-letters/{deadLetterId}.
    .PARAMETER Limit
    The limit.
    .PARAMETER Topic
    All topics by default.
    .PARAMETER Worker
    Only jobs of this worker.
    .PARAMETER DeadLetterId
    The dead letter id.
    .EXAMPLE
    Get-MatDeadLetter
    #>
    [CmdletBinding(DefaultParameterSetName = 'listDeadLetters')]
    param(
        [Parameter(ParameterSetName = 'listDeadLetters')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listDeadLetters')]
        [ValidateSet('orchestrator-events', 'worker-jobs', 'worker-results')] [string] $Topic,
        [Parameter(ParameterSetName = 'listDeadLetters')]
        [string] $Worker,
        [Parameter(ParameterSetName = 'getDeadLetter', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $DeadLetterId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listDeadLetters' { Invoke-MatRequest -Method 'GET' -Path '/api/dead-letters' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit', 'Topic', 'Worker') -InBody @() -Paged }
            'getDeadLetter' { Invoke-MatRequest -Method 'GET' -Path '/api/dead-letters/{deadLetterId}' -Bound $PSBoundParameters -InPath @('DeadLetterId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatEffect {
    <#
    .SYNOPSIS
    List what was changed for a member, with the inverse of each change, the last first.
    .DESCRIPTION
    GET /api/batches/{batchId}/members/{memberId}/effects.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER MemberId
    The member id.
    .EXAMPLE
    Get-MatEffect -BatchId <long> -MemberId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listEffects')]
    param(
        [Parameter(ParameterSetName = 'listEffects', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'listEffects', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $MemberId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listEffects' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/members/{memberId}/effects' -Bound $PSBoundParameters -InPath @('BatchId', 'MemberId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatEvent {
    <#
    .SYNOPSIS
    List what happened in a batch or to a member, and why.
    .DESCRIPTION
    GET /api/batches/{batchId}/events. `entity=batch,phase` gives the course of the batch without member events.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Limit
    The limit.
    .PARAMETER MemberId
    The member id.
    .PARAMETER Entity
    One or more of system, runbook, batch, phase, member, step, worker, comma-separated.
    .PARAMETER Sort
    The sort.
    .EXAMPLE
    Get-MatEvent -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listEvents')]
    param(
        [Parameter(ParameterSetName = 'listEvents', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'listEvents')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listEvents')]
        [long] $MemberId,
        [Parameter(ParameterSetName = 'listEvents')]
        [ValidateSet('system', 'runbook', 'batch', 'phase', 'member', 'step', 'worker')] [string[]] $Entity,
        [Parameter(ParameterSetName = 'listEvents')]
        [ValidateSet('newest', 'oldest')] [string] $Sort
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listEvents' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/events' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @('Limit', 'MemberId', 'Entity', 'Sort') -InBody @() -Paged }
        }
    }
}

function Get-MatEvidenceKey {
    <#
    .SYNOPSIS
    Show the public key that signs evidence packs.
    .DESCRIPTION
    GET /api/evidence/key.

    .EXAMPLE
    Get-MatEvidenceKey
    #>
    [CmdletBinding(DefaultParameterSetName = 'getEvidenceKey')]
    param(

    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getEvidenceKey' { Invoke-MatRequest -Method 'GET' -Path '/api/evidence/key' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatFailure {
    <#
    .SYNOPSIS
    List failures over all batches, the same failure as one group.
    .DESCRIPTION
    GET /api/failures. Of batches that run, or ended in the last 24 hours. `select: {"pattern": …}` applies an action to everybody of a group in a batch.
    .PARAMETER Runbook
    The runbook.
    .PARAMETER EndedSince
    Include batches that ended since then; by default 24 hours.
    .EXAMPLE
    Get-MatFailure
    #>
    [CmdletBinding(DefaultParameterSetName = 'listFailures')]
    param(
        [Parameter(ParameterSetName = 'listFailures')]
        [string] $Runbook,
        [Parameter(ParameterSetName = 'listFailures')]
        [string] $EndedSince
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listFailures' { Invoke-MatRequest -Method 'GET' -Path '/api/failures' -Bound $PSBoundParameters -InPath @() -InQuery @('Runbook', 'EndedSince') -InBody @() -Paged }
        }
    }
}

function Get-MatFailureGroup {
    <#
    .SYNOPSIS
    List failures, grouped by messages that differ only in ids, times and addresses.
    .DESCRIPTION
    GET /api/batches/{batchId}/failures.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Get-MatFailureGroup -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listFailureGroups')]
    param(
        [Parameter(ParameterSetName = 'listFailureGroups', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listFailureGroups' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/failures' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatForecast {
    <#
    .SYNOPSIS
    Forecast the end of each phase, and which will miss its time.
    .DESCRIPTION
    GET /api/batches/{batchId}/forecast. The estimate of the summary, in full. Every figure says what it rests on.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Get-MatForecast -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'getForecast')]
    param(
        [Parameter(ParameterSetName = 'getForecast', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getForecast' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/forecast' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatGate {
    <#
    .SYNOPSIS
    List the gates of a batch: readiness, failures, reviews, holds, decisions.
    .DESCRIPTION
    GET /api/batches/{batchId}/gates. A member is ready when it is active and has passed every step of every earlier phase.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Get-MatGate -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listGates')]
    param(
        [Parameter(ParameterSetName = 'listGates', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listGates' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/gates' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatHold {
    <#
    .SYNOPSIS
    List the holds in force, the widest first.
    .DESCRIPTION
    GET /api/holds.
    .PARAMETER Limit
    The limit.
    .PARAMETER Scope
    One or more of system, runbook, worker, batch, member, comma-separated.
    .PARAMETER BatchId
    Only of this batch and its members.
    .EXAMPLE
    Get-MatHold
    #>
    [CmdletBinding(DefaultParameterSetName = 'listHolds')]
    param(
        [Parameter(ParameterSetName = 'listHolds')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listHolds')]
        [ValidateSet('system', 'runbook', 'worker', 'batch', 'member')] [string[]] $Scope,
        [Parameter(ParameterSetName = 'listHolds')]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listHolds' { Invoke-MatRequest -Method 'GET' -Path '/api/holds' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit', 'Scope', 'BatchId') -InBody @() -Paged }
        }
    }
}

function Get-MatIdentity {
    <#
    .SYNOPSIS
    Show your identity and roles.
    .DESCRIPTION
    GET /api/me.

    .EXAMPLE
    Get-MatIdentity
    #>
    [CmdletBinding(DefaultParameterSetName = 'getMe')]
    param(

    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getMe' { Invoke-MatRequest -Method 'GET' -Path '/api/me' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatJobAfterBackup {
    <#
    .SYNOPSIS
    List jobs that are known to have run after the backup.
    .DESCRIPTION
    GET /api/restored/ran-after-backup. From what workers remember and what arrives late; a worker that was stopped remembers nothing. Oldest first.
    .PARAMETER Limit
    The limit.
    .EXAMPLE
    Get-MatJobAfterBackup
    #>
    [CmdletBinding(DefaultParameterSetName = 'listRanAfterBackup')]
    param(
        [Parameter(ParameterSetName = 'listRanAfterBackup')]
        [long] $Limit
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listRanAfterBackup' { Invoke-MatRequest -Method 'GET' -Path '/api/restored/ran-after-backup' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit') -InBody @() -Paged }
        }
    }
}

function Get-MatMember {
    <#
    .SYNOPSIS
    List the members of a batch by status, key or failure. Show a member with its data, outputs, steps, attempts and events.
    .DESCRIPTION
    GET /api/batches/{batchId}/members.
    GET /api/batches/{batchId}/members/{memberId}.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Limit
    The limit.
    .PARAMETER Status
    One or more of active, failed, removed, comma-separated.
    .PARAMETER State
    One or more of scheduled, preparing, cutting_over, cut_over, done, failed, rolled_back, stopped, removed, comma-separated.
    .PARAMETER Phase
    The current step is in this phase.
    .PARAMETER Step
    The current step has this name.
    .PARAMETER Key
    Start of the key.
    .PARAMETER Search
    Part of the key.
    .PARAMETER FailedPhase
    The failed phase.
    .PARAMETER FailedStep
    The failed step.
    .PARAMETER ErrorText
    Part of the error message.
    .PARAMETER Pattern
    The `pattern` of a failure group.
    .PARAMETER Held
    With or without a hold of their own.
    .PARAMETER Sort
    The sort.
    .PARAMETER MemberId
    The member id.
    .EXAMPLE
    Get-MatMember -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listMembers')]
    param(
        [Parameter(ParameterSetName = 'listMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [Parameter(ParameterSetName = 'getMember', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'listMembers')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listMembers')]
        [ValidateSet('active', 'failed', 'removed')] [string[]] $Status,
        [Parameter(ParameterSetName = 'listMembers')]
        [ValidateSet('scheduled', 'preparing', 'cutting_over', 'cut_over', 'done', 'failed', 'rolled_back', 'stopped', 'removed')] [string[]] $State,
        [Parameter(ParameterSetName = 'listMembers')]
        [string] $Phase,
        [Parameter(ParameterSetName = 'listMembers')]
        [string] $Step,
        [Parameter(ParameterSetName = 'listMembers')]
        [string] $Key,
        [Parameter(ParameterSetName = 'listMembers')]
        [string] $Search,
        [Parameter(ParameterSetName = 'listMembers')]
        [string] $FailedPhase,
        [Parameter(ParameterSetName = 'listMembers')]
        [string] $FailedStep,
        [Parameter(ParameterSetName = 'listMembers')]
        [string] $ErrorText,
        [Parameter(ParameterSetName = 'listMembers')]
        [string] $Pattern,
        [Parameter(ParameterSetName = 'listMembers')]
        [bool] $Held,
        [Parameter(ParameterSetName = 'listMembers')]
        [ValidateSet('id', 'key')] [string] $Sort,
        [Parameter(ParameterSetName = 'getMember', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $MemberId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listMembers' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/members' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @('Limit', 'Status', 'State', 'Phase', 'Step', 'Key', 'Search', 'FailedPhase', 'FailedStep', 'ErrorText', 'Pattern', 'Held', 'Sort') -InBody @() -Paged }
            'getMember' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/members/{memberId}' -Bound $PSBoundParameters -InPath @('BatchId', 'MemberId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatMemberMessage {
    <#
    .SYNOPSIS
    List the messages to the members of a batch, by message, language or state.
    .DESCRIPTION
    GET /api/batches/{batchId}/messages. Without `state`: every message that was sent, corrections included. `not_sent` lists each active member by each step whose message they have not been sent.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Limit
    The limit.
    .PARAMETER State
    The state.
    .PARAMETER Message
    The message.
    .PARAMETER Language
    The language.
    .PARAMETER MemberId
    The member id.
    .PARAMETER Search
    Part of the member’s key.
    .PARAMETER Sort
    The sort.
    .EXAMPLE
    Get-MatMemberMessage -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listMemberMessages')]
    param(
        [Parameter(ParameterSetName = 'listMemberMessages', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'listMemberMessages')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listMemberMessages')]
        [ValidateSet('sent', 'correction_owed', 'not_sent', 'failed')] [string] $State,
        [Parameter(ParameterSetName = 'listMemberMessages')]
        [string] $Message,
        [Parameter(ParameterSetName = 'listMemberMessages')]
        [string] $Language,
        [Parameter(ParameterSetName = 'listMemberMessages')]
        [long] $MemberId,
        [Parameter(ParameterSetName = 'listMemberMessages')]
        [string] $Search,
        [Parameter(ParameterSetName = 'listMemberMessages')]
        [ValidateSet('id', 'id_latest', 'key')] [string] $Sort
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listMemberMessages' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/messages' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @('Limit', 'State', 'Message', 'Language', 'MemberId', 'Search', 'Sort') -InBody @() -Paged }
        }
    }
}

function Get-MatNeed {
    <#
    .SYNOPSIS
    List what needs a person, the greatest harm first, in all or for one batch or runbook.
    .DESCRIPTION
    GET /api/needs. Status, wall, batch summary and notifications say the same. With a batch or a runbook, only what concerns it: a hold of everything does, a dead letter does not.
    .PARAMETER Runbook
    The runbook.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Get-MatNeed
    #>
    [CmdletBinding(DefaultParameterSetName = 'listNeeds')]
    param(
        [Parameter(ParameterSetName = 'listNeeds')]
        [string] $Runbook,
        [Parameter(ParameterSetName = 'listNeeds')]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listNeeds' { Invoke-MatRequest -Method 'GET' -Path '/api/needs' -Bound $PSBoundParameters -InPath @() -InQuery @('Runbook', 'BatchId') -InBody @() -Paged }
        }
    }
}

function Get-MatNotification {
    <#
    .SYNOPSIS
    List messages to people, newest first. Show a message and what became of it.
    .DESCRIPTION
    GET /api/notifications. Messages are kept for 30 days.
    GET /api/notifications/{notificationId}.
    .PARAMETER Limit
    The limit.
    .PARAMETER Channel
    The channel.
    .PARAMETER Status
    The status.
    .PARAMETER NotificationId
    The notification id.
    .EXAMPLE
    Get-MatNotification
    #>
    [CmdletBinding(DefaultParameterSetName = 'listNotifications')]
    param(
        [Parameter(ParameterSetName = 'listNotifications')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listNotifications')]
        [string] $Channel,
        [Parameter(ParameterSetName = 'listNotifications')]
        [ValidateSet('waiting', 'sent', 'failed')] [string] $Status,
        [Parameter(ParameterSetName = 'getNotification', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $NotificationId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listNotifications' { Invoke-MatRequest -Method 'GET' -Path '/api/notifications' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit', 'Channel', 'Status') -InBody @() -Paged }
            'getNotification' { Invoke-MatRequest -Method 'GET' -Path '/api/notifications/{notificationId}' -Bound $PSBoundParameters -InPath @('NotificationId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatNow {
    <#
    .SYNOPSIS
    Show the wall: every current batch, what needs a person, what comes next.
    .DESCRIPTION
    GET /api/now. Names no member. Walls that ask within the same second share one answer.

    .EXAMPLE
    Get-MatNow
    #>
    [CmdletBinding(DefaultParameterSetName = 'getNow')]
    param(

    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getNow' { Invoke-MatRequest -Method 'GET' -Path '/api/now' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatPhase {
    <#
    .SYNOPSIS
    List the phases of a batch with step and member counts.
    .DESCRIPTION
    GET /api/batches/{batchId}/phases.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Get-MatPhase -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listPhases')]
    param(
        [Parameter(ParameterSetName = 'listPhases', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listPhases' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/phases' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatRehearsal {
    <#
    .SYNOPSIS
    List the newest rehearsals. Show a rehearsal with its report.
    .DESCRIPTION
    GET /api/rehearsals. The newest 20; older ones are deleted.
    GET /api/rehearsals/{rehearsalId}.
    .PARAMETER RehearsalId
    The rehearsal id.
    .EXAMPLE
    Get-MatRehearsal
    #>
    [CmdletBinding(DefaultParameterSetName = 'listRehearsals')]
    param(
        [Parameter(ParameterSetName = 'getRehearsal', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $RehearsalId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listRehearsals' { Invoke-MatRequest -Method 'GET' -Path '/api/rehearsals' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @() -Paged }
            'getRehearsal' { Invoke-MatRequest -Method 'GET' -Path '/api/rehearsals/{rehearsalId}' -Bound $PSBoundParameters -InPath @('RehearsalId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatReview {
    <#
    .SYNOPSIS
    List source changes that wait for a person.
    .DESCRIPTION
    GET /api/reviews.
    .PARAMETER Limit
    The limit.
    .PARAMETER Runbook
    The runbook.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Kind
    The kind.
    .PARAMETER ToTime
    Only to this time of the source.
    .PARAMETER WithDismissed
    The with dismissed.
    .EXAMPLE
    Get-MatReview
    #>
    [CmdletBinding(DefaultParameterSetName = 'listReviews')]
    param(
        [Parameter(ParameterSetName = 'listReviews')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listReviews')]
        [string] $Runbook,
        [Parameter(ParameterSetName = 'listReviews')]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'listReviews')]
        [ValidateSet('removal', 'move', 'join')] [string] $Kind,
        [Parameter(ParameterSetName = 'listReviews')]
        [string] $ToTime,
        [Parameter(ParameterSetName = 'listReviews')]
        [bool] $WithDismissed
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listReviews' { Invoke-MatRequest -Method 'GET' -Path '/api/reviews' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit', 'Runbook', 'BatchId', 'Kind', 'ToTime', 'WithDismissed') -InBody @() -Paged }
        }
    }
}

function Get-MatRunSheet {
    <#
    .SYNOPSIS
    Get the run sheet of a batch, a page to print.
    .DESCRIPTION
    GET /api/batches/{batchId}/run-sheet. For the night in which the network is down: phases, gates, steps, commands, and every member with a box for each phase, sent page by page.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Zone
    The zone of the times that people read.
    .EXAMPLE
    Get-MatRunSheet -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'getRunSheet')]
    param(
        [Parameter(ParameterSetName = 'getRunSheet', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'getRunSheet')]
        [string] $Zone
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getRunSheet' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/run-sheet' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @('Zone') -InBody @() -Paged }
        }
    }
}

function Get-MatRunbook {
    <#
    .SYNOPSIS
    List runbooks by name, each with its active version. Show the active version of a runbook with its text.
    .DESCRIPTION
    GET /api/runbooks.
    GET /api/runbooks/{name}.
    .PARAMETER Limit
    The limit.
    .PARAMETER Search
    Part of the name.
    .PARAMETER WithInactive
    Include runbooks without an active version, with their newest.
    .PARAMETER Name
    The name.
    .EXAMPLE
    Get-MatRunbook
    #>
    [CmdletBinding(DefaultParameterSetName = 'listRunbooks')]
    param(
        [Parameter(ParameterSetName = 'listRunbooks')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listRunbooks')]
        [string] $Search,
        [Parameter(ParameterSetName = 'listRunbooks')]
        [bool] $WithInactive,
        [Parameter(ParameterSetName = 'getRunbook', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listRunbooks' { Invoke-MatRequest -Method 'GET' -Path '/api/runbooks' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit', 'Search', 'WithInactive') -InBody @() -Paged }
            'getRunbook' { Invoke-MatRequest -Method 'GET' -Path '/api/runbooks/{name}' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatRunbookPlan {
    <#
    .SYNOPSIS
    Plan a run: phases with times, steps with examples.
    .DESCRIPTION
    POST /api/runbooks/{name}/plan. For an existing batch, a made-up member, or the template’s sample row. At most 3 examples per step.
    .PARAMETER Name
    The name.
    .PARAMETER YamlContent
    An unpublished text; the active version by default.
    .PARAMETER StartTime
    The start time.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Member
    The columns of a made-up member.
    .EXAMPLE
    Get-MatRunbookPlan -Name <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'planRunbook')]
    param(
        [Parameter(ParameterSetName = 'planRunbook', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'planRunbook')]
        [string] $YamlContent,
        [Parameter(ParameterSetName = 'planRunbook')]
        [string] $StartTime,
        [Parameter(ParameterSetName = 'planRunbook')]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'planRunbook')]
        [object] $Member
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'planRunbook' { Invoke-MatRequest -Method 'POST' -Path '/api/runbooks/{name}/plan' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @('YamlContent', 'StartTime', 'BatchId', 'Member') }
        }
    }
}

function Get-MatRunbookVersion {
    <#
    .SYNOPSIS
    List the versions of a runbook, newest first. Show a version of a runbook with its text.
    .DESCRIPTION
    GET /api/runbooks/{name}/versions.
    GET /api/runbooks/{name}/versions/{version}.
    .PARAMETER Name
    The name.
    .PARAMETER Limit
    The limit.
    .PARAMETER Version
    The version.
    .EXAMPLE
    Get-MatRunbookVersion -Name <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listRunbookVersions')]
    param(
        [Parameter(ParameterSetName = 'listRunbookVersions', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [Parameter(ParameterSetName = 'getRunbookVersion', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'listRunbookVersions')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'getRunbookVersion', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $Version
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listRunbookVersions' { Invoke-MatRequest -Method 'GET' -Path '/api/runbooks/{name}/versions' -Bound $PSBoundParameters -InPath @('Name') -InQuery @('Limit') -InBody @() -Paged }
            'getRunbookVersion' { Invoke-MatRequest -Method 'GET' -Path '/api/runbooks/{name}/versions/{version}' -Bound $PSBoundParameters -InPath @('Name', 'Version') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatSource {
    <#
    .SYNOPSIS
    List data sources with their last and next tick.
    .DESCRIPTION
    GET /api/sources.
    .PARAMETER Limit
    The limit.
    .EXAMPLE
    Get-MatSource
    #>
    [CmdletBinding(DefaultParameterSetName = 'listSources')]
    param(
        [Parameter(ParameterSetName = 'listSources')]
        [long] $Limit
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listSources' { Invoke-MatRequest -Method 'GET' -Path '/api/sources' -Bound $PSBoundParameters -InPath @() -InQuery @('Limit') -InBody @() -Paged }
        }
    }
}

function Get-MatSourceIssue {
    <#
    .SYNOPSIS
    List unusable rows and changes not made, as of the last good tick.
    .DESCRIPTION
    GET /api/runbooks/{name}/issues.
    .PARAMETER Name
    The name.
    .PARAMETER Limit
    The limit.
    .EXAMPLE
    Get-MatSourceIssue -Name <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listSourceIssues')]
    param(
        [Parameter(ParameterSetName = 'listSourceIssues', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'listSourceIssues')]
        [long] $Limit
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listSourceIssues' { Invoke-MatRequest -Method 'GET' -Path '/api/runbooks/{name}/issues' -Bound $PSBoundParameters -InPath @('Name') -InQuery @('Limit') -InBody @() -Paged }
        }
    }
}

function Get-MatStatus {
    <#
    .SYNOPSIS
    Show whether somebody is needed, what runs and what comes next, over all batches.
    .DESCRIPTION
    GET /api/status.

    .EXAMPLE
    Get-MatStatus
    #>
    [CmdletBinding(DefaultParameterSetName = 'getStatus')]
    param(

    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getStatus' { Invoke-MatRequest -Method 'GET' -Path '/api/status' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatStep {
    <#
    .SYNOPSIS
    List the steps of a batch by status, phase, step, member, worker, error or time. Show a step with its parameters, results and attempts.
    .DESCRIPTION
    GET /api/batches/{batchId}/steps.
    GET /api/steps/{stepId}.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Limit
    The limit.
    .PARAMETER Kind
    One or more of phase, init, rollback, removal, undo, comma-separated.
    .PARAMETER Status
    One or more of pending, dispatched, polling, succeeded, failed, poll_timeout, rolled_back, cancelled, skipped, comma-separated.
    .PARAMETER Phase
    The phase.
    .PARAMETER Step
    The step.
    .PARAMETER Worker
    The worker.
    .PARAMETER MemberId
    The member id.
    .PARAMETER MemberKey
    The full key.
    .PARAMETER ErrorText
    Part of the error message.
    .PARAMETER EndedFrom
    The ended from.
    .PARAMETER EndedBefore
    The ended before.
    .PARAMETER Sort
    The sort.
    .PARAMETER StepId
    The step id.
    .EXAMPLE
    Get-MatStep -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listSteps')]
    param(
        [Parameter(ParameterSetName = 'listSteps', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'listSteps')]
        [long] $Limit,
        [Parameter(ParameterSetName = 'listSteps')]
        [ValidateSet('phase', 'init', 'rollback', 'removal', 'undo')] [string[]] $Kind,
        [Parameter(ParameterSetName = 'listSteps')]
        [ValidateSet('pending', 'dispatched', 'polling', 'succeeded', 'failed', 'poll_timeout', 'rolled_back', 'cancelled', 'skipped')] [string[]] $Status,
        [Parameter(ParameterSetName = 'listSteps')]
        [string] $Phase,
        [Parameter(ParameterSetName = 'listSteps')]
        [string] $Step,
        [Parameter(ParameterSetName = 'listSteps')]
        [string] $Worker,
        [Parameter(ParameterSetName = 'listSteps')]
        [long] $MemberId,
        [Parameter(ParameterSetName = 'listSteps')]
        [string] $MemberKey,
        [Parameter(ParameterSetName = 'listSteps')]
        [string] $ErrorText,
        [Parameter(ParameterSetName = 'listSteps')]
        [string] $EndedFrom,
        [Parameter(ParameterSetName = 'listSteps')]
        [string] $EndedBefore,
        [Parameter(ParameterSetName = 'listSteps')]
        [ValidateSet('id', 'id_latest')] [string] $Sort,
        [Parameter(ParameterSetName = 'getStep', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $StepId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listSteps' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/steps' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @('Limit', 'Kind', 'Status', 'Phase', 'Step', 'Worker', 'MemberId', 'MemberKey', 'ErrorText', 'EndedFrom', 'EndedBefore', 'Sort') -InBody @() -Paged }
            'getStep' { Invoke-MatRequest -Method 'GET' -Path '/api/steps/{stepId}' -Bound $PSBoundParameters -InPath @('StepId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatStuckWork {
    <#
    .SYNOPSIS
    List blocked work and why it is blocked.
    .DESCRIPTION
    GET /api/batches/{batchId}/stuck.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Get-MatStuckWork -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listStuck')]
    param(
        [Parameter(ParameterSetName = 'listStuck', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listStuck' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/stuck' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatTemplate {
    <#
    .SYNOPSIS
    Get a member file template with the runbook’s columns and a sample row.
    .DESCRIPTION
    GET /api/runbooks/{name}/template.
    .PARAMETER Name
    The name.
    .EXAMPLE
    Get-MatTemplate -Name <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'getTemplate')]
    param(
        [Parameter(ParameterSetName = 'getTemplate', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getTemplate' { Invoke-MatRequest -Method 'GET' -Path '/api/runbooks/{name}/template' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatTick {
    <#
    .SYNOPSIS
    List the ticks of the runbook’s source, newest first; kept for a month.
    .DESCRIPTION
    GET /api/runbooks/{name}/ticks.
    .PARAMETER Name
    The name.
    .PARAMETER Limit
    The limit.
    .EXAMPLE
    Get-MatTick -Name <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'listTicks')]
    param(
        [Parameter(ParameterSetName = 'listTicks', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'listTicks')]
        [long] $Limit
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listTicks' { Invoke-MatRequest -Method 'GET' -Path '/api/runbooks/{name}/ticks' -Bound $PSBoundParameters -InPath @('Name') -InQuery @('Limit') -InBody @() -Paged }
        }
    }
}

function Get-MatUndo {
    <#
    .SYNOPSIS
    Count the undo steps of a batch, those of its members and those of init.
    .DESCRIPTION
    GET /api/batches/{batchId}/undo.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Get-MatUndo -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'getUndo')]
    param(
        [Parameter(ParameterSetName = 'getUndo', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'getUndo' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/undo' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Get-MatWorker {
    <#
    .SYNOPSIS
    List workers with functions and load. Show a worker with functions, load and throttling.
    .DESCRIPTION
    GET /api/workers.
    GET /api/workers/{workerId}.
    .PARAMETER WorkerId
    The worker id.
    .EXAMPLE
    Get-MatWorker
    #>
    [CmdletBinding(DefaultParameterSetName = 'listWorkers')]
    param(
        [Parameter(ParameterSetName = 'getWorker', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $WorkerId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'listWorkers' { Invoke-MatRequest -Method 'GET' -Path '/api/workers' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @() -Paged }
            'getWorker' { Invoke-MatRequest -Method 'GET' -Path '/api/workers/{workerId}' -Bound $PSBoundParameters -InPath @('WorkerId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Invoke-MatCountMemberMessages {
    <#
    .SYNOPSIS
    Count the messages to the members of a batch.
    .DESCRIPTION
    GET /api/batches/{batchId}/messages/counts.
    .PARAMETER BatchId
    The batch id.
    .EXAMPLE
    Invoke-MatCountMemberMessages -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'countMemberMessages')]
    param(
        [Parameter(ParameterSetName = 'countMemberMessages', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'countMemberMessages' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/messages/counts' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @() -Paged }
        }
    }
}

function Invoke-MatOverrideWindow {
    <#
    .SYNOPSIS
    Send steps of a batch outside its change windows.
    .DESCRIPTION
    POST /api/batches/{batchId}/override-window. Until then the batch ignores the change windows of its runbook and of the system, freezes included. Null ends an override.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Until
    The until.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Invoke-MatOverrideWindow -BatchId <long> -Until <object> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'overrideWindow', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'overrideWindow', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'overrideWindow', Mandatory = $true)]
        [object] $Until,
        [Parameter(ParameterSetName = 'overrideWindow', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'overrideWindow')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'overrideWindow' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Send steps of a batch outside its change windows')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/override-window' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Until', 'Reason', 'DryRun')
                }
            }
        }
    }
}

function Invoke-MatSourceTick {
    <#
    .SYNOPSIS
    Query the runbook’s data source now and apply what changed.
    .DESCRIPTION
    POST /api/runbooks/{name}/ticks. Waits for the end of the tick. A failed tick is an answer, not an error: `outcome` and `error` say so.
    .PARAMETER Name
    The name.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Invoke-MatSourceTick -Name <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'tickNow', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'tickNow', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'tickNow')]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'tickNow' {
                if ($PSCmdlet.ShouldProcess("$Name", 'Query the runbook''s data source now and apply what changed')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/runbooks/{name}/ticks' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Invoke-MatWaiveReadiness {
    <#
    .SYNOPSIS
    Let a phase start with fewer ready members than its gate asks for.
    .DESCRIPTION
    POST /api/batches/{batchId}/gates/{phaseName}/waive. It ends at `until`, and is void when the version, the members or the phase’s time change.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER PhaseName
    The phase name.
    .PARAMETER Reason
    The reason.
    .PARAMETER Until
    The until.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Invoke-MatWaiveReadiness -BatchId <long> -PhaseName <string> -Reason <string> -Until <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'waiveReadiness', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'waiveReadiness', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'waiveReadiness', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $PhaseName,
        [Parameter(ParameterSetName = 'waiveReadiness', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'waiveReadiness', Mandatory = $true)]
        [string] $Until,
        [Parameter(ParameterSetName = 'waiveReadiness')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'waiveReadiness' {
                if ($PSCmdlet.ShouldProcess("$BatchId $PhaseName", 'Let a phase start with fewer ready members than its gate asks for')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/gates/{phaseName}/waive' -Bound $PSBoundParameters -InPath @('BatchId', 'PhaseName') -InQuery @() -InBody @('Reason', 'Until', 'DryRun')
                }
            }
        }
    }
}

function Move-MatMember {
    <#
    .SYNOPSIS
    Move members to another batch of the runbook, with their data, outputs and passed steps.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/move. No removal steps run. Refused once a step of T-0 or later was sent for the member. The data source does not move them back into the group they left; a row in any other group moves them.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER Reason
    The reason.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .PARAMETER ToBatchId
    The to batch id.
    .EXAMPLE
    Move-MatMember -BatchId <long> -Select <object> -Reason <string> -ToBatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'moveMembers', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'moveMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'moveMembers', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'moveMembers')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'moveMembers', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'moveMembers')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'moveMembers')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'moveMembers', Mandatory = $true)]
        [long] $ToBatchId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'moveMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Move members to another batch of the runbook, with their data, outputs and passed steps')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/move' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun', 'ToBatchId')
                }
            }
        }
    }
}

function New-MatBatch {
    <#
    .SYNOPSIS
    Create a manual batch from a member file (CSV).
    .DESCRIPTION
    POST /api/batches. At most 50 MB and 200,000 rows. The whole file is checked first, and every fault has its row and column. The batch waits to be advanced.
    .PARAMETER DryRun
    The dry run.
    .PARAMETER RunbookName
    The runbook name.
    .PARAMETER File
    The file.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    New-MatBatch -RunbookName <string> -File <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'createBatch', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'createBatch')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'createBatch', Mandatory = $true)]
        [string] $RunbookName,
        [Parameter(ParameterSetName = 'createBatch', Mandatory = $true)]
        [string] $File,
        [Parameter(ParameterSetName = 'createBatch')]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'createBatch' {
                if ($PSCmdlet.ShouldProcess('matoolkit', 'Create a manual batch from a member file (CSV)')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches' -Bound $PSBoundParameters -InPath @() -InQuery @('DryRun') -InBody @('RunbookName', 'File', 'Reason') -Creates -Upload
                }
            }
        }
    }
}

function Publish-MatRunbook {
    <#
    .SYNOPSIS
    Publish the next version of a runbook, or dry-run it.
    .DESCRIPTION
    POST /api/runbooks. The answer lists the outcome for each unfinished batch. The same text and options again create no new version (200).
    .PARAMETER Name
    Optional; must match the name in the text.
    .PARAMETER YamlContent
    The yaml content.
    .PARAMETER OverdueBehavior
    The overdue behavior.
    .PARAMETER RerunInit
    The rerun init.
    .PARAMETER DryRun
    The dry run.
    .PARAMETER Force
    Publish although a step lacks a required parameter of its function.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Publish-MatRunbook -YamlContent <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'publishRunbook', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'publishRunbook')]
        [string] $Name,
        [Parameter(ParameterSetName = 'publishRunbook', Mandatory = $true)]
        [string] $YamlContent,
        [Parameter(ParameterSetName = 'publishRunbook')]
        [ValidateSet('ignore', 'rerun')] [string] $OverdueBehavior,
        [Parameter(ParameterSetName = 'publishRunbook')]
        [bool] $RerunInit,
        [Parameter(ParameterSetName = 'publishRunbook')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'publishRunbook')]
        [bool] $Force,
        [Parameter(ParameterSetName = 'publishRunbook')]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'publishRunbook' {
                if ($PSCmdlet.ShouldProcess('matoolkit', 'Publish the next version of a runbook, or dry-run it')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/runbooks' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @('Name', 'YamlContent', 'OverdueBehavior', 'RerunInit', 'DryRun', 'Force', 'Reason') -Creates
                }
            }
        }
    }
}

function Redo-MatMemberStep {
    <#
    .SYNOPSIS
    Redo a step and all later ones for members.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/redo.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER Reason
    The reason.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .PARAMETER FromStep
    The from step.
    .EXAMPLE
    Redo-MatMemberStep -BatchId <long> -Select <object> -Reason <string> -FromStep <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'redoMembers', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'redoMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'redoMembers', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'redoMembers')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'redoMembers', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'redoMembers')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'redoMembers')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'redoMembers', Mandatory = $true)]
        [string] $FromStep
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'redoMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Redo a step and all later ones for members')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/redo' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun', 'FromStep')
                }
            }
        }
    }
}

function Register-MatRestore {
    <#
    .SYNOPSIS
    Say that the database was restored from a backup.
    .DESCRIPTION
    POST /api/restored. Puts the whole system on hold and begins a new epoch: no result of an earlier job counts, and jobs that were out are sent again after the resume. PostgreSQL shows most restores by itself; then this happens without the call.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Register-MatRestore -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'noteRestore', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'noteRestore', Mandatory = $true)]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'noteRestore' {
                if ($PSCmdlet.ShouldProcess('matoolkit', 'Say that the database was restored from a backup')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/restored' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Remove-MatMember {
    <#
    .SYNOPSIS
    Remove a member: open steps are cancelled, removal steps run. Remove members: open steps are cancelled, removal steps run.
    .DESCRIPTION
    DELETE /api/batches/{batchId}/members/{memberId}.
    POST /api/batches/{batchId}/members/remove.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER MemberId
    The member id.
    .PARAMETER Reason
    The reason.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .EXAMPLE
    Remove-MatMember -BatchId <long> -MemberId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'removeMember', SupportsShouldProcess = $true, ConfirmImpact = 'High')]
    param(
        [Parameter(ParameterSetName = 'removeMember', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [Parameter(ParameterSetName = 'removeMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'removeMember', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $MemberId,
        [Parameter(ParameterSetName = 'removeMember')]
        [Parameter(ParameterSetName = 'removeMembers', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'removeMembers', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'removeMembers')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'removeMembers')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'removeMembers')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'removeMember' {
                if ($PSCmdlet.ShouldProcess("$BatchId $MemberId", 'Remove a member: open steps are cancelled, removal steps run')) {
                    Invoke-MatRequest -Method 'DELETE' -Path '/api/batches/{batchId}/members/{memberId}' -Bound $PSBoundParameters -InPath @('BatchId', 'MemberId') -InQuery @('Reason') -InBody @()
                }
            }
            'removeMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Remove members: open steps are cancelled, removal steps run')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/remove' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun')
                }
            }
        }
    }
}

function Remove-MatRehearsal {
    <#
    .SYNOPSIS
    Cancel a running rehearsal, or delete an ended one.
    .DESCRIPTION
    DELETE /api/rehearsals/{rehearsalId}. A cancelled rehearsal stays in the list until it is deleted. One that another API runs can be cancelled there only.
    .PARAMETER RehearsalId
    The rehearsal id.
    .EXAMPLE
    Remove-MatRehearsal -RehearsalId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'deleteRehearsal', SupportsShouldProcess = $true, ConfirmImpact = 'High')]
    param(
        [Parameter(ParameterSetName = 'deleteRehearsal', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $RehearsalId
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'deleteRehearsal' {
                if ($PSCmdlet.ShouldProcess("$RehearsalId", 'Cancel a running rehearsal, or delete an ended one')) {
                    Invoke-MatRequest -Method 'DELETE' -Path '/api/rehearsals/{rehearsalId}' -Bound $PSBoundParameters -InPath @('RehearsalId') -InQuery @() -InBody @()
                }
            }
        }
    }
}

function Restart-MatBatch {
    <#
    .SYNOPSIS
    Restart a batch that failed in init.
    .DESCRIPTION
    POST /api/batches/{batchId}/restart.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Restart-MatBatch -BatchId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'restartBatch', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'restartBatch', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'restartBatch', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'restartBatch')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'restartBatch' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Restart a batch that failed in init')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/restart' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Restart-MatMember {
    <#
    .SYNOPSIS
    Retry failed members from the failed step or an earlier one.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/retry. Uses current data and the active version. After a rollback, `fromStep` is required.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER Reason
    The reason.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .PARAMETER FromStep
    The from step.
    .EXAMPLE
    Restart-MatMember -BatchId <long> -Select <object> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'retryMembers', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'retryMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'retryMembers', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'retryMembers')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'retryMembers', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'retryMembers')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'retryMembers')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'retryMembers')]
        [string] $FromStep
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'retryMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Retry failed members from the failed step or an earlier one')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/retry' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun', 'FromStep')
                }
            }
        }
    }
}

function Restart-MatStep {
    <#
    .SYNOPSIS
    Retry a failed step.
    .DESCRIPTION
    POST /api/steps/{stepId}/retry. A rollback or removal step is sent again alone; after a phase step its member continues with all later steps.
    .PARAMETER StepId
    The step id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    The dry run.
    .EXAMPLE
    Restart-MatStep -StepId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'retryStep', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'retryStep', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $StepId,
        [Parameter(ParameterSetName = 'retryStep', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'retryStep')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'retryStep' {
                if ($PSCmdlet.ShouldProcess("$StepId", 'Retry a failed step')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/steps/{stepId}/retry' -Bound $PSBoundParameters -InPath @('StepId') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Restore-MatMember {
    <#
    .SYNOPSIS
    Add removed members again, with the steps they had passed.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/readd. A member whose removal steps were sent starts over. The data source does not remove it again before its key has reappeared there.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER Reason
    The reason.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .EXAMPLE
    Restore-MatMember -BatchId <long> -Select <object> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'readdMembers', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'readdMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'readdMembers', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'readdMembers')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'readdMembers', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'readdMembers')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'readdMembers')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'readdMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Add removed members again, with the steps they had passed')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/readd' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun')
                }
            }
        }
    }
}

function Resume-MatBatch {
    <#
    .SYNOPSIS
    Resume a batch; time on hold does not count for retries and polls.
    .DESCRIPTION
    POST /api/batches/{batchId}/resume.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Resume-MatBatch -BatchId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'resumeBatch', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'resumeBatch', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'resumeBatch', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'resumeBatch')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'resumeBatch' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Resume a batch; time on hold does not count for retries and polls')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/resume' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Resume-MatMember {
    <#
    .SYNOPSIS
    Resume a member; time on hold does not count for retries and polls. Resume held members; time on hold does not count for retries and polls.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/{memberId}/resume. What another hold covers stays held. `starts` counts all; `startsAtOnce` lists the first.
    POST /api/batches/{batchId}/members/resume. What another hold covers stays held.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER MemberId
    The member id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .EXAMPLE
    Resume-MatMember -BatchId <long> -MemberId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'resumeMember', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'resumeMember', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [Parameter(ParameterSetName = 'resumeMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'resumeMember', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $MemberId,
        [Parameter(ParameterSetName = 'resumeMember', Mandatory = $true)]
        [Parameter(ParameterSetName = 'resumeMembers', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'resumeMember')]
        [Parameter(ParameterSetName = 'resumeMembers')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'resumeMembers', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'resumeMembers')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'resumeMembers')]
        [bool] $AllOrNothing
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'resumeMember' {
                if ($PSCmdlet.ShouldProcess("$BatchId $MemberId", 'Resume a member; time on hold does not count for retries and polls')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/{memberId}/resume' -Bound $PSBoundParameters -InPath @('BatchId', 'MemberId') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
            'resumeMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Resume held members; time on hold does not count for retries and polls')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/resume' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun')
                }
            }
        }
    }
}

function Resume-MatRunbook {
    <#
    .SYNOPSIS
    Resume all batches of a runbook; time on hold does not count for retries and polls.
    .DESCRIPTION
    POST /api/runbooks/{name}/resume. What another hold covers stays held. `starts` counts all; `startsAtOnce` lists the first.
    .PARAMETER Name
    The name.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Resume-MatRunbook -Name <string> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'resumeRunbook', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'resumeRunbook', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'resumeRunbook', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'resumeRunbook')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'resumeRunbook' {
                if ($PSCmdlet.ShouldProcess("$Name", 'Resume all batches of a runbook; time on hold does not count for retries and polls')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/runbooks/{name}/resume' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Resume-MatSystem {
    <#
    .SYNOPSIS
    Resume the whole system; time on hold does not count for retries and polls.
    .DESCRIPTION
    POST /api/resume. What another hold covers stays held. `starts` counts all; `startsAtOnce` lists the first.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Resume-MatSystem -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'resumeSystem', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'resumeSystem', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'resumeSystem')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'resumeSystem' {
                if ($PSCmdlet.ShouldProcess('matoolkit', 'Resume the whole system; time on hold does not count for retries and polls')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/resume' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Resume-MatWorker {
    <#
    .SYNOPSIS
    Resume everything for a worker; time on hold does not count for retries and polls.
    .DESCRIPTION
    POST /api/workers/{workerId}/resume. What another hold covers stays held. `starts` counts all; `startsAtOnce` lists the first.
    .PARAMETER WorkerId
    The worker id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Resume-MatWorker -WorkerId <string> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'resumeWorker', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'resumeWorker', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $WorkerId,
        [Parameter(ParameterSetName = 'resumeWorker', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'resumeWorker')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'resumeWorker' {
                if ($PSCmdlet.ShouldProcess("$WorkerId", 'Resume everything for a worker; time on hold does not count for retries and polls')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/workers/{workerId}/resume' -Bound $PSBoundParameters -InPath @('WorkerId') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Revoke-MatGateDecision {
    <#
    .SYNOPSIS
    Withdraw the caller's approval, or the waiver.
    .DESCRIPTION
    POST /api/batches/{batchId}/gates/{phaseName}/withdraw. Possible until the phase has started.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER PhaseName
    The phase name.
    .PARAMETER Kind
    The kind.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Revoke-MatGateDecision -BatchId <long> -PhaseName <string> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'withdrawGateDecision', SupportsShouldProcess = $true, ConfirmImpact = 'High')]
    param(
        [Parameter(ParameterSetName = 'withdrawGateDecision', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'withdrawGateDecision', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $PhaseName,
        [Parameter(ParameterSetName = 'withdrawGateDecision')]
        [ValidateSet('approval', 'waiver')] [string] $Kind,
        [Parameter(ParameterSetName = 'withdrawGateDecision', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'withdrawGateDecision')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'withdrawGateDecision' {
                if ($PSCmdlet.ShouldProcess("$BatchId $PhaseName", 'Withdraw the caller''s approval, or the waiver')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/gates/{phaseName}/withdraw' -Bound $PSBoundParameters -InPath @('BatchId', 'PhaseName') -InQuery @() -InBody @('Kind', 'Reason', 'DryRun')
                }
            }
        }
    }
}

function Send-MatDeadLetter {
    <#
    .SYNOPSIS
    Send a dead letter again, to its own subscription.
    .DESCRIPTION
    POST /api/dead-letters/{deadLetterId}/replay.
    .PARAMETER DeadLetterId
    The dead letter id.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Send-MatDeadLetter -DeadLetterId <string> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'replayDeadLetter', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'replayDeadLetter', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $DeadLetterId,
        [Parameter(ParameterSetName = 'replayDeadLetter', Mandatory = $true)]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'replayDeadLetter' {
                if ($PSCmdlet.ShouldProcess("$DeadLetterId", 'Send a dead letter again, to its own subscription')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/dead-letters/{deadLetterId}/replay' -Bound $PSBoundParameters -InPath @('DeadLetterId') -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Set-MatAutomation {
    <#
    .SYNOPSIS
    Turn automation on or off; unfinished batches continue either way.
    .DESCRIPTION
    PUT /api/runbooks/{name}/automation.
    .PARAMETER Name
    The name.
    .PARAMETER Enabled
    The enabled.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Set-MatAutomation -Name <string> -Enabled <bool>
    #>
    [CmdletBinding(DefaultParameterSetName = 'setAutomation', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'setAutomation', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'setAutomation', Mandatory = $true)]
        [bool] $Enabled,
        [Parameter(ParameterSetName = 'setAutomation')]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'setAutomation' {
                if ($PSCmdlet.ShouldProcess("$Name", 'Turn automation on or off; unfinished batches continue either way')) {
                    Invoke-MatRequest -Method 'PUT' -Path '/api/runbooks/{name}/automation' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @('Enabled', 'Reason')
                }
            }
        }
    }
}

function Set-MatBatchHoldReason {
    <#
    .SYNOPSIS
    Record the reason for a hold: a batch.
    .DESCRIPTION
    PUT /api/batches/{batchId}/hold.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Set-MatBatchHoldReason -BatchId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'giveReasonOfBatchHold', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'giveReasonOfBatchHold', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'giveReasonOfBatchHold', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'giveReasonOfBatchHold')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'giveReasonOfBatchHold' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Record the reason for a hold: a batch')) {
                    Invoke-MatRequest -Method 'PUT' -Path '/api/batches/{batchId}/hold' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Set-MatMemberHoldReason {
    <#
    .SYNOPSIS
    Record the reason for a hold: a member.
    .DESCRIPTION
    PUT /api/batches/{batchId}/members/{memberId}/hold.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER MemberId
    The member id.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Set-MatMemberHoldReason -BatchId <long> -MemberId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'giveReasonOfMemberHold', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'giveReasonOfMemberHold', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'giveReasonOfMemberHold', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $MemberId,
        [Parameter(ParameterSetName = 'giveReasonOfMemberHold', Mandatory = $true)]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'giveReasonOfMemberHold' {
                if ($PSCmdlet.ShouldProcess("$BatchId $MemberId", 'Record the reason for a hold: a member')) {
                    Invoke-MatRequest -Method 'PUT' -Path '/api/batches/{batchId}/members/{memberId}/hold' -Bound $PSBoundParameters -InPath @('BatchId', 'MemberId') -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Set-MatMemberVariable {
    <#
    .SYNOPSIS
    Set a variable of members, as if a step had returned it.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/variable. Jobs sent from then on use it. To send a failed step again, retry it afterwards.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER Reason
    The reason.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .PARAMETER Name
    The name.
    .PARAMETER Value
    The value.
    .EXAMPLE
    Set-MatMemberVariable -BatchId <long> -Select <object> -Reason <string> -Name <string> -Value <object>
    #>
    [CmdletBinding(DefaultParameterSetName = 'setMemberVariable', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'setMemberVariable', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'setMemberVariable', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'setMemberVariable')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'setMemberVariable', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'setMemberVariable')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'setMemberVariable')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'setMemberVariable', Mandatory = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'setMemberVariable', Mandatory = $true)]
        [object] $Value
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'setMemberVariable' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Set a variable of members, as if a step had returned it')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/variable' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun', 'Name', 'Value')
                }
            }
        }
    }
}

function Set-MatRunbookHoldReason {
    <#
    .SYNOPSIS
    Record the reason for a hold: all batches of a runbook.
    .DESCRIPTION
    PUT /api/runbooks/{name}/hold.
    .PARAMETER Name
    The name.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Set-MatRunbookHoldReason -Name <string> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'giveReasonOfRunbookHold', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'giveReasonOfRunbookHold', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'giveReasonOfRunbookHold', Mandatory = $true)]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'giveReasonOfRunbookHold' {
                if ($PSCmdlet.ShouldProcess("$Name", 'Record the reason for a hold: all batches of a runbook')) {
                    Invoke-MatRequest -Method 'PUT' -Path '/api/runbooks/{name}/hold' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Set-MatSystemHoldReason {
    <#
    .SYNOPSIS
    Record the reason for a hold: the whole system.
    .DESCRIPTION
    PUT /api/hold.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Set-MatSystemHoldReason -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'giveReasonOfSystemHold', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'giveReasonOfSystemHold', Mandatory = $true)]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'giveReasonOfSystemHold' {
                if ($PSCmdlet.ShouldProcess('matoolkit', 'Record the reason for a hold: the whole system')) {
                    Invoke-MatRequest -Method 'PUT' -Path '/api/hold' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Set-MatWorkerHoldReason {
    <#
    .SYNOPSIS
    Record the reason for a hold: everything for a worker.
    .DESCRIPTION
    PUT /api/workers/{workerId}/hold.
    .PARAMETER WorkerId
    The worker id.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Set-MatWorkerHoldReason -WorkerId <string> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'giveReasonOfWorkerHold', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'giveReasonOfWorkerHold', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $WorkerId,
        [Parameter(ParameterSetName = 'giveReasonOfWorkerHold', Mandatory = $true)]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'giveReasonOfWorkerHold' {
                if ($PSCmdlet.ShouldProcess("$WorkerId", 'Record the reason for a hold: everything for a worker')) {
                    Invoke-MatRequest -Method 'PUT' -Path '/api/workers/{workerId}/hold' -Bound $PSBoundParameters -InPath @('WorkerId') -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Skip-MatMemberStep {
    <#
    .SYNOPSIS
    Skip a step of members; they continue after it.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/skip.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER Reason
    The reason.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .PARAMETER Step
    The step to pass; by default `failedStep`, or the step that failed.
    .EXAMPLE
    Skip-MatMemberStep -BatchId <long> -Select <object> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'skipMembers', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'skipMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'skipMembers', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'skipMembers')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'skipMembers', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'skipMembers')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'skipMembers')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'skipMembers')]
        [string] $Step
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'skipMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Skip a step of members; they continue after it')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/skip' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun', 'Step')
                }
            }
        }
    }
}

function Skip-MatStep {
    <#
    .SYNOPSIS
    Skip a step; its member continues after it.
    .DESCRIPTION
    POST /api/steps/{stepId}/skip.
    .PARAMETER StepId
    The step id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    The dry run.
    .EXAMPLE
    Skip-MatStep -StepId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'skipStep', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'skipStep', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $StepId,
        [Parameter(ParameterSetName = 'skipStep', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'skipStep')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'skipStep' {
                if ($PSCmdlet.ShouldProcess("$StepId", 'Skip a step; its member continues after it')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/steps/{stepId}/skip' -Bound $PSBoundParameters -InPath @('StepId') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Start-MatRehearsal {
    <#
    .SYNOPSIS
    Rehearse a runbook with these people.
    .DESCRIPTION
    POST /api/rehearsals. Runs in a process of its own, one at a time, for at most 10 minutes, on simulated tenants. Nothing live is touched.
    .PARAMETER YamlContent
    The yaml content.
    .PARAMETER Members
    Rows as the data source returns them.
    .PARAMETER Faults
    The faults.
    .PARAMETER StartAt
    Default: an hour before the first phase.
    .PARAMETER Seed
    The seed.
    .PARAMETER Slots
    The slots.
    .EXAMPLE
    Start-MatRehearsal -YamlContent <string> -Members <object[]>
    #>
    [CmdletBinding(DefaultParameterSetName = 'beginRehearsal', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'beginRehearsal', Mandatory = $true)]
        [string] $YamlContent,
        [Parameter(ParameterSetName = 'beginRehearsal', Mandatory = $true)]
        [object[]] $Members,
        [Parameter(ParameterSetName = 'beginRehearsal')]
        [string[]] $Faults,
        [Parameter(ParameterSetName = 'beginRehearsal')]
        [string] $StartAt,
        [Parameter(ParameterSetName = 'beginRehearsal')]
        [long] $Seed,
        [Parameter(ParameterSetName = 'beginRehearsal')]
        [long] $Slots
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'beginRehearsal' {
                if ($PSCmdlet.ShouldProcess('matoolkit', 'Rehearse a runbook with these people')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/rehearsals' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @('YamlContent', 'Members', 'Faults', 'StartAt', 'Seed', 'Slots') -Creates
                }
            }
        }
    }
}

function Start-MatWhatIf {
    <#
    .SYNOPSIS
    Rehearse a batch as it is and with a change.
    .DESCRIPTION
    POST /api/batches/{batchId}/what-if. Compares when its phases end, with one seed. Runs like a rehearsal: in a process of its own, one at a time, for at most 2000 people and 10 minutes. Follow it with GET /api/rehearsals/{rehearsalId}. Nothing live is touched.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Slots
    Of every worker.
    .PARAMETER WorkerSlots
    Of single workers.
    .PARAMETER People
    Only so many, the first of the batch.
    .PARAMETER Without
    Keys of people who stay out.
    .PARAMETER Faults
    The faults.
    .PARAMETER Seed
    The seed.
    .EXAMPLE
    Start-MatWhatIf -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'beginWhatIf', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'beginWhatIf', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'beginWhatIf')]
        [long] $Slots,
        [Parameter(ParameterSetName = 'beginWhatIf')]
        [object] $WorkerSlots,
        [Parameter(ParameterSetName = 'beginWhatIf')]
        [long] $People,
        [Parameter(ParameterSetName = 'beginWhatIf')]
        [string[]] $Without,
        [Parameter(ParameterSetName = 'beginWhatIf')]
        [string[]] $Faults,
        [Parameter(ParameterSetName = 'beginWhatIf')]
        [long] $Seed
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'beginWhatIf' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Rehearse a batch as it is and with a change')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/what-if' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Slots', 'WorkerSlots', 'People', 'Without', 'Faults', 'Seed') -Creates
                }
            }
        }
    }
}

function Step-MatBatch {
    <#
    .SYNOPSIS
    Start the next phase of a manual batch.
    .DESCRIPTION
    POST /api/batches/{batchId}/advance. `expectedPhase` is the next phase as the caller saw it (`nextPhase` of the batch, or `init`), so that two operators cannot advance twice.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER ExpectedPhase
    The expected phase.
    .PARAMETER AllowStragglers
    The allow stragglers.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Step-MatBatch -BatchId <long> -ExpectedPhase <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'advanceBatch', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'advanceBatch', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'advanceBatch', Mandatory = $true)]
        [string] $ExpectedPhase,
        [Parameter(ParameterSetName = 'advanceBatch')]
        [bool] $AllowStragglers,
        [Parameter(ParameterSetName = 'advanceBatch')]
        [string] $Reason,
        [Parameter(ParameterSetName = 'advanceBatch')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'advanceBatch' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Start the next phase of a manual batch')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/advance' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('ExpectedPhase', 'AllowStragglers', 'Reason', 'DryRun')
                }
            }
        }
    }
}

function Stop-MatBatch {
    <#
    .SYNOPSIS
    Cancel a batch: open steps are cancelled, running rollbacks finish.
    .DESCRIPTION
    POST /api/batches/{batchId}/cancel.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Stop-MatBatch -BatchId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'cancelBatch', SupportsShouldProcess = $true, ConfirmImpact = 'High')]
    param(
        [Parameter(ParameterSetName = 'cancelBatch', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'cancelBatch', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'cancelBatch')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'cancelBatch' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Cancel a batch: open steps are cancelled, running rollbacks finish')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/cancel' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Suspend-MatBatch {
    <#
    .SYNOPSIS
    Put a batch on hold: no new jobs, and queued jobs are withdrawn.
    .DESCRIPTION
    POST /api/batches/{batchId}/hold. The reason may follow later: a hold never waits for it.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Suspend-MatBatch -BatchId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'holdBatch', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'holdBatch', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'holdBatch')]
        [string] $Reason,
        [Parameter(ParameterSetName = 'holdBatch')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'holdBatch' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Put a batch on hold: no new jobs, and queued jobs are withdrawn')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/hold' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Reason', 'DryRun')
                }
            }
        }
    }
}

function Suspend-MatMember {
    <#
    .SYNOPSIS
    Hold a member: no new jobs, and queued jobs are withdrawn. Hold members: no new jobs for them, and queued jobs are withdrawn.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/{memberId}/hold. The reason may follow later: a hold never waits for it.
    POST /api/batches/{batchId}/members/hold. The reason may follow later. At most 10000 members of a batch are held one by one.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER MemberId
    The member id.
    .PARAMETER Reason
    The reason.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .EXAMPLE
    Suspend-MatMember -BatchId <long> -MemberId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'holdMember', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'holdMember', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [Parameter(ParameterSetName = 'holdMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'holdMember', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $MemberId,
        [Parameter(ParameterSetName = 'holdMember')]
        [Parameter(ParameterSetName = 'holdMembers')]
        [string] $Reason,
        [Parameter(ParameterSetName = 'holdMembers', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'holdMembers')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'holdMembers')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'holdMembers')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'holdMember' {
                if ($PSCmdlet.ShouldProcess("$BatchId $MemberId", 'Hold a member: no new jobs, and queued jobs are withdrawn')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/{memberId}/hold' -Bound $PSBoundParameters -InPath @('BatchId', 'MemberId') -InQuery @() -InBody @('Reason')
                }
            }
            'holdMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Hold members: no new jobs for them, and queued jobs are withdrawn')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/hold' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun')
                }
            }
        }
    }
}

function Suspend-MatRunbook {
    <#
    .SYNOPSIS
    Hold all batches of a runbook: no new jobs, and queued jobs are withdrawn.
    .DESCRIPTION
    POST /api/runbooks/{name}/hold. The reason may follow later: a hold never waits for it.
    .PARAMETER Name
    The name.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Suspend-MatRunbook -Name <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'holdRunbook', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'holdRunbook', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'holdRunbook')]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'holdRunbook' {
                if ($PSCmdlet.ShouldProcess("$Name", 'Hold all batches of a runbook: no new jobs, and queued jobs are withdrawn')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/runbooks/{name}/hold' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Suspend-MatSystem {
    <#
    .SYNOPSIS
    Hold the whole system: no new jobs, and queued jobs are withdrawn.
    .DESCRIPTION
    POST /api/hold. The reason may follow later: a hold never waits for it.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Suspend-MatSystem
    #>
    [CmdletBinding(DefaultParameterSetName = 'holdSystem', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'holdSystem')]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'holdSystem' {
                if ($PSCmdlet.ShouldProcess('matoolkit', 'Hold the whole system: no new jobs, and queued jobs are withdrawn')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/hold' -Bound $PSBoundParameters -InPath @() -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Suspend-MatWorker {
    <#
    .SYNOPSIS
    Hold everything for a worker: no new jobs, and queued jobs are withdrawn.
    .DESCRIPTION
    POST /api/workers/{workerId}/hold. The reason may follow later: a hold never waits for it.
    .PARAMETER WorkerId
    The worker id.
    .PARAMETER Reason
    The reason.
    .EXAMPLE
    Suspend-MatWorker -WorkerId <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'holdWorker', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'holdWorker', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $WorkerId,
        [Parameter(ParameterSetName = 'holdWorker')]
        [string] $Reason
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'holdWorker' {
                if ($PSCmdlet.ShouldProcess("$WorkerId", 'Hold everything for a worker: no new jobs, and queued jobs are withdrawn')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/workers/{workerId}/hold' -Bound $PSBoundParameters -InPath @('WorkerId') -InQuery @() -InBody @('Reason')
                }
            }
        }
    }
}

function Test-MatAudit {
    <#
    .SYNOPSIS
    Verify the hash chain, from the first kept row to the last sealed one.
    .DESCRIPTION
    GET /api/audit/verification. Keep the returned head: a later check against it also detects rows cut off at the end.
    .PARAMETER Sealed
    The sealed.
    .PARAMETER Hash
    The hash.
    .EXAMPLE
    Test-MatAudit
    #>
    [CmdletBinding(DefaultParameterSetName = 'verifyAudit')]
    param(
        [Parameter(ParameterSetName = 'verifyAudit')]
        [long] $Sealed,
        [Parameter(ParameterSetName = 'verifyAudit')]
        [string] $Hash
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'verifyAudit' { Invoke-MatRequest -Method 'GET' -Path '/api/audit/verification' -Bound $PSBoundParameters -InPath @() -InQuery @('Sealed', 'Hash') -InBody @() -Paged }
        }
    }
}

function Test-MatChannel {
    <#
    .SYNOPSIS
    Send a test message to a channel.
    .DESCRIPTION
    POST /api/channels/{channel}/test. An orchestrator sends it within seconds, at any hour, and tries once. Read the outcome at `/api/notifications/{id}`.
    .PARAMETER Channel
    The channel.
    .EXAMPLE
    Test-MatChannel -Channel <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'testChannel', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'testChannel', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Channel
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'testChannel' {
                if ($PSCmdlet.ShouldProcess("$Channel", 'Send a test message to a channel')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/channels/{channel}/test' -Bound $PSBoundParameters -InPath @('Channel') -InQuery @() -InBody @()
                }
            }
        }
    }
}

function Test-MatMessage {
    <#
    .SYNOPSIS
    Preview a message as a member would get it now.
    .DESCRIPTION
    GET /api/batches/{batchId}/members/{memberId}/preview-message. With the version that the batch runs, the member’s data and outputs, and the batch’s start. Sends nothing.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER MemberId
    The member id.
    .PARAMETER Message
    The message.
    .PARAMETER Language
    The language.
    .EXAMPLE
    Test-MatMessage -BatchId <long> -MemberId <long>
    #>
    [CmdletBinding(DefaultParameterSetName = 'previewMessage')]
    param(
        [Parameter(ParameterSetName = 'previewMessage', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'previewMessage', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $MemberId,
        [Parameter(ParameterSetName = 'previewMessage')]
        [string] $Message,
        [Parameter(ParameterSetName = 'previewMessage')]
        [string] $Language
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'previewMessage' { Invoke-MatRequest -Method 'GET' -Path '/api/batches/{batchId}/members/{memberId}/preview-message' -Bound $PSBoundParameters -InPath @('BatchId', 'MemberId') -InQuery @('Message', 'Language') -InBody @() -Paged }
        }
    }
}

function Test-MatRunbookMessage {
    <#
    .SYNOPSIS
    Preview a message of a runbook as a person would get it.
    .DESCRIPTION
    POST /api/runbooks/{name}/preview-message. For a made-up member, or the template’s sample row. Sends nothing.
    .PARAMETER Name
    The name.
    .PARAMETER YamlContent
    An unpublished text; the active version by default.
    .PARAMETER Message
    By default the first.
    .PARAMETER Language
    The language.
    .PARAMETER StartTime
    The start time.
    .PARAMETER Member
    The columns of a made-up member.
    .EXAMPLE
    Test-MatRunbookMessage -Name <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'previewRunbookMessage')]
    param(
        [Parameter(ParameterSetName = 'previewRunbookMessage', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'previewRunbookMessage')]
        [string] $YamlContent,
        [Parameter(ParameterSetName = 'previewRunbookMessage')]
        [string] $Message,
        [Parameter(ParameterSetName = 'previewRunbookMessage')]
        [string] $Language,
        [Parameter(ParameterSetName = 'previewRunbookMessage')]
        [string] $StartTime,
        [Parameter(ParameterSetName = 'previewRunbookMessage')]
        [object] $Member
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'previewRunbookMessage' { Invoke-MatRequest -Method 'POST' -Path '/api/runbooks/{name}/preview-message' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @('YamlContent', 'Message', 'Language', 'StartTime', 'Member') }
        }
    }
}

function Test-MatRunbookQuery {
    <#
    .SYNOPSIS
    Query the runbook’s data source now and change nothing.
    .DESCRIPTION
    POST /api/runbooks/{name}/query/preview. Uses the active version, or an unpublished text.
    .PARAMETER Name
    The name.
    .PARAMETER YamlContent
    The yaml content.
    .EXAMPLE
    Test-MatRunbookQuery -Name <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'previewQuery')]
    param(
        [Parameter(ParameterSetName = 'previewQuery', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [string] $Name,
        [Parameter(ParameterSetName = 'previewQuery')]
        [string] $YamlContent
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'previewQuery' { Invoke-MatRequest -Method 'POST' -Path '/api/runbooks/{name}/query/preview' -Bound $PSBoundParameters -InPath @('Name') -InQuery @() -InBody @('YamlContent') }
        }
    }
}

function Undo-MatInit {
    <#
    .SYNOPSIS
    Undo what the init steps of a batch changed.
    .DESCRIPTION
    POST /api/batches/{batchId}/undo-init. After the undo of its members. A dry run lists the plan.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Reason
    The reason.
    .PARAMETER PastNoReturn
    Also undo what was done before the point of no return.
    .PARAMETER DryRun
    List the plan and change nothing.
    .EXAMPLE
    Undo-MatInit -BatchId <long> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'undoInit', SupportsShouldProcess = $true, ConfirmImpact = 'High')]
    param(
        [Parameter(ParameterSetName = 'undoInit', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'undoInit', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'undoInit')]
        [bool] $PastNoReturn,
        [Parameter(ParameterSetName = 'undoInit')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'undoInit' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Undo what the init steps of a batch changed')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/undo-init' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Reason', 'PastNoReturn', 'DryRun')
                }
            }
        }
    }
}

function Undo-MatMember {
    <#
    .SYNOPSIS
    Undo what was changed for members, the last change first.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/undo. The inverse of each change in the ledger runs as a tracked step; what no job changed is left alone. A value that somebody changed since is not overwritten: that step fails, and the rest of that member stays. A dry run lists the plan. All members of a batch in flight need a hold first. The members end as failed and can be retried.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER Reason
    The reason.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .PARAMETER PastNoReturn
    Also undo what was done before the point of no return.
    .EXAMPLE
    Undo-MatMember -BatchId <long> -Select <object> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'undoMembers', SupportsShouldProcess = $true, ConfirmImpact = 'High')]
    param(
        [Parameter(ParameterSetName = 'undoMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'undoMembers', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'undoMembers')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'undoMembers', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'undoMembers')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'undoMembers')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'undoMembers')]
        [bool] $PastNoReturn
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'undoMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Undo what was changed for members, the last change first')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/undo' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun', 'PastNoReturn')
                }
            }
        }
    }
}

function Undo-MatMemberStep {
    <#
    .SYNOPSIS
    Roll back what members have passed, from a step or phase on.
    .DESCRIPTION
    POST /api/batches/{batchId}/members/rollback. Each step’s own rollback runs, the last step’s first; a rollback that several steps share runs once. The members end as failed and can be retried. A dry run lists the rollbacks.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER Select
    The select.
    .PARAMETER ExpectedCount
    The number the caller saw; any other is refused.
    .PARAMETER Reason
    The reason.
    .PARAMETER AllOrNothing
    Change nobody when anybody is refused.
    .PARAMETER DryRun
    Show the selection and change nothing.
    .PARAMETER FromStep
    The from step.
    .PARAMETER FromPhase
    The from phase.
    .EXAMPLE
    Undo-MatMemberStep -BatchId <long> -Select <object> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'rollBackMembers', SupportsShouldProcess = $true, ConfirmImpact = 'High')]
    param(
        [Parameter(ParameterSetName = 'rollBackMembers', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'rollBackMembers', Mandatory = $true)]
        [object] $Select,
        [Parameter(ParameterSetName = 'rollBackMembers')]
        [long] $ExpectedCount,
        [Parameter(ParameterSetName = 'rollBackMembers', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'rollBackMembers')]
        [bool] $AllOrNothing,
        [Parameter(ParameterSetName = 'rollBackMembers')]
        [bool] $DryRun,
        [Parameter(ParameterSetName = 'rollBackMembers')]
        [string] $FromStep,
        [Parameter(ParameterSetName = 'rollBackMembers')]
        [string] $FromPhase
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'rollBackMembers' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Roll back what members have passed, from a step or phase on')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/members/rollback' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('Select', 'ExpectedCount', 'Reason', 'AllOrNothing', 'DryRun', 'FromStep', 'FromPhase')
                }
            }
        }
    }
}

function Update-MatBatch {
    <#
    .SYNOPSIS
    Change the start of a batch; phases that have not started move with it.
    .DESCRIPTION
    POST /api/batches/{batchId}/reschedule. Phases whose new time has passed start at once. The call is refused with their names unless `allowOverdue` is true.
    .PARAMETER BatchId
    The batch id.
    .PARAMETER StartTime
    The start time.
    .PARAMETER AllowOverdue
    The allow overdue.
    .PARAMETER Reason
    The reason.
    .PARAMETER DryRun
    Return the same answer and change nothing.
    .EXAMPLE
    Update-MatBatch -BatchId <long> -StartTime <string> -Reason <string>
    #>
    [CmdletBinding(DefaultParameterSetName = 'rescheduleBatch', SupportsShouldProcess = $true)]
    param(
        [Parameter(ParameterSetName = 'rescheduleBatch', Mandatory = $true, ValueFromPipelineByPropertyName = $true)]
        [long] $BatchId,
        [Parameter(ParameterSetName = 'rescheduleBatch', Mandatory = $true)]
        [string] $StartTime,
        [Parameter(ParameterSetName = 'rescheduleBatch')]
        [bool] $AllowOverdue,
        [Parameter(ParameterSetName = 'rescheduleBatch', Mandatory = $true)]
        [string] $Reason,
        [Parameter(ParameterSetName = 'rescheduleBatch')]
        [bool] $DryRun
    )
    process {
        switch ($PSCmdlet.ParameterSetName) {
            'rescheduleBatch' {
                if ($PSCmdlet.ShouldProcess("$BatchId", 'Change the start of a batch; phases that have not started move with it')) {
                    Invoke-MatRequest -Method 'POST' -Path '/api/batches/{batchId}/reschedule' -Bound $PSBoundParameters -InPath @('BatchId') -InQuery @() -InBody @('StartTime', 'AllowOverdue', 'Reason', 'DryRun')
                }
            }
        }
    }
}

Export-ModuleMember -Function @('Connect-Matoolkit', 'Disconnect-Matoolkit', 'Add-MatMember', 'Approve-MatGate', 'Approve-MatLateResult', 'Approve-MatReview', 'Clear-MatDeadLetter', 'Complete-MatMemberStep', 'Complete-MatStep', 'Copy-MatBatch', 'Deny-MatReview', 'Disable-MatRunbookVersion', 'Find-MatMember', 'Get-MatAction', 'Get-MatActionMember', 'Get-MatAudit', 'Get-MatAutomation', 'Get-MatBatch', 'Get-MatBatchEvidence', 'Get-MatBatchReport', 'Get-MatBatchSummary', 'Get-MatCatalogue', 'Get-MatChannel', 'Get-MatCondition', 'Get-MatDatabaseRole', 'Get-MatDeadLetter', 'Get-MatEffect', 'Get-MatEvent', 'Get-MatEvidenceKey', 'Get-MatFailure', 'Get-MatFailureGroup', 'Get-MatForecast', 'Get-MatGate', 'Get-MatHold', 'Get-MatIdentity', 'Get-MatJobAfterBackup', 'Get-MatMember', 'Get-MatMemberMessage', 'Get-MatNeed', 'Get-MatNotification', 'Get-MatNow', 'Get-MatPhase', 'Get-MatRehearsal', 'Get-MatReview', 'Get-MatRunSheet', 'Get-MatRunbook', 'Get-MatRunbookPlan', 'Get-MatRunbookVersion', 'Get-MatSource', 'Get-MatSourceIssue', 'Get-MatStatus', 'Get-MatStep', 'Get-MatStuckWork', 'Get-MatTemplate', 'Get-MatTick', 'Get-MatUndo', 'Get-MatWorker', 'Invoke-MatCountMemberMessages', 'Invoke-MatOverrideWindow', 'Invoke-MatSourceTick', 'Invoke-MatWaiveReadiness', 'Move-MatMember', 'New-MatBatch', 'Publish-MatRunbook', 'Redo-MatMemberStep', 'Register-MatRestore', 'Remove-MatMember', 'Remove-MatRehearsal', 'Restart-MatBatch', 'Restart-MatMember', 'Restart-MatStep', 'Restore-MatMember', 'Resume-MatBatch', 'Resume-MatMember', 'Resume-MatRunbook', 'Resume-MatSystem', 'Resume-MatWorker', 'Revoke-MatGateDecision', 'Send-MatDeadLetter', 'Set-MatAutomation', 'Set-MatBatchHoldReason', 'Set-MatMemberHoldReason', 'Set-MatMemberVariable', 'Set-MatRunbookHoldReason', 'Set-MatSystemHoldReason', 'Set-MatWorkerHoldReason', 'Skip-MatMemberStep', 'Skip-MatStep', 'Start-MatRehearsal', 'Start-MatWhatIf', 'Step-MatBatch', 'Stop-MatBatch', 'Suspend-MatBatch', 'Suspend-MatMember', 'Suspend-MatRunbook', 'Suspend-MatSystem', 'Suspend-MatWorker', 'Test-MatAudit', 'Test-MatChannel', 'Test-MatMessage', 'Test-MatRunbookMessage', 'Test-MatRunbookQuery', 'Undo-MatInit', 'Undo-MatMember', 'Undo-MatMemberStep', 'Update-MatBatch')
