# Runs the functions of PowerShell modules for a matoolkit worker, one call at a time. It talks JSON, one object a line, over a pipe of
# its own: modules write to standard output as they like. The worker ends this process at a deadline and starts another one.
param(
    [Parameter(Mandatory)] [string] $PipeName
)

$startFolder = Get-Location

# Modules read their preferences from the global scope, not from the script that calls them. What one function sets there must not turn the
# errors of the next one into success.
function Reset-Preferences {
    $global:ErrorActionPreference = 'Stop'
    $global:ConfirmPreference = 'None'
    $global:ProgressPreference = 'SilentlyContinue'
    $global:WarningPreference = 'Continue'
    $global:WhatIfPreference = $false
    $global:PSDefaultParameterValues = @{}
    Set-Location $startFolder
}
Reset-Preferences

$utf8 = [System.Text.UTF8Encoding]::new($false)
$pipe = [System.IO.Pipes.NamedPipeClientStream]::new('.', $PipeName, [System.IO.Pipes.PipeDirection]::InOut)
$pipe.Connect(30000)
$reader = [System.IO.StreamReader]::new($pipe, $utf8)
$writer = [System.IO.StreamWriter]::new($pipe, $utf8)
$writer.NewLine = "`n"
$writer.AutoFlush = $true

$connectedWith = @{}
$connectsOf = @{}
$moduleOf = @{ graph = 'Microsoft.Graph.Authentication'; exchange = 'ExchangeOnlineManagement' }

function Send-Answer([hashtable] $Answer) {
    $writer.WriteLine((ConvertTo-Json -InputObject $Answer -Depth 12 -Compress -EnumsAsStrings -WarningAction SilentlyContinue))
}

# Not ConvertFrom-Json: it turns every text that looks like a date into a DateTime, and a text parameter would get it in another form.
function ConvertFrom-Element([System.Text.Json.JsonElement] $Element) {
    switch ($Element.ValueKind) {
        'Object' {
            $table = @{}
            foreach ($property in $Element.EnumerateObject()) { $table[$property.Name] = ConvertFrom-Element $property.Value }
            return $table
        }
        'Array' {
            $list = [System.Collections.Generic.List[object]]::new()
            foreach ($item in $Element.EnumerateArray()) { $list.Add((ConvertFrom-Element $item)) }
            return , $list.ToArray()
        }
        'String' { return $Element.GetString() }
        'Number' {
            $whole = [long] 0
            if ($Element.TryGetInt64([ref] $whole)) { return $whole }
            return $Element.GetDouble()
        }
        'True' { return $true }
        'False' { return $false }
        default { return $null }
    }
}

function Get-FailureOf([System.Management.Automation.ErrorRecord] $ErrorRecord) {
    $type = $ErrorRecord.Exception.GetType().Name
    # Microsoft's Exchange module names the service's exception only here.
    if ($type -eq 'Exception' -and $ErrorRecord.CategoryInfo.Reason) { $type = $ErrorRecord.CategoryInfo.Reason }
    @{
        type     = $type
        message  = $ErrorRecord.Exception.Message
        # Microsoft's modules keep the answer of the service; for any other exception these are null.
        retryAfterSec = $ErrorRecord.Exception.Response.Headers.RetryAfter.Delta.TotalSeconds
        status   = $ErrorRecord.Exception.Response.StatusCode.value__
        errorId  = $ErrorRecord.FullyQualifiedErrorId
        isBefore = -not $script:hasBegun
    }
}

function Get-ParameterDescription([System.Management.Automation.FunctionInfo] $Command, [System.Management.Automation.ParameterMetadata] $Parameter) {
    $attributes = $Parameter.Attributes
    $choices = @($attributes | Where-Object { $_ -is [System.Management.Automation.ValidateSetAttribute] })
    $isMandatory = $true
    foreach ($set in $Command.ParameterSets) {
        $inSet = @($set.Parameters | Where-Object { $_.Name -eq $Parameter.Name })
        if ($inSet.Count -eq 0 -or -not $inSet[0].IsMandatory) { $isMandatory = $false }
    }
    $help = @($attributes | Where-Object { $_ -is [System.Management.Automation.ParameterAttribute] -and $_.HelpMessage })
    @{
        name      = $Parameter.Name
        type      = $Parameter.ParameterType.FullName
        mandatory = $isMandatory
        choices   = @(if ($choices.Count -gt 0) { $choices[0].ValidValues })
        help      = if ($help.Count -gt 0) { $help[0].HelpMessage } else { $null }
    }
}

function Get-SynopsisOf([string] $Name) {
    # Without comment-based help the synopsis is the syntax, which starts with the name.
    $synopsis = (Get-Help -Name $Name -ErrorAction SilentlyContinue).Synopsis
    if ($null -eq $synopsis) { return $null }
    $text = ([string] $synopsis).Trim()
    if ($text -eq '' -or $text.StartsWith($Name)) { return $null }
    return $text
}

function Get-FunctionDescription([System.Management.Automation.FunctionInfo] $Command, [hashtable] $Notes) {
    $common = [System.Management.Automation.Cmdlet]::CommonParameters + [System.Management.Automation.Cmdlet]::OptionalCommonParameters
    $parameters = $Command.Parameters.Values | Where-Object { $_.Name -notin $common }
    @{
        name       = $Command.Name
        synopsis   = Get-SynopsisOf $Command.Name
        parameters = @($parameters | ForEach-Object { Get-ParameterDescription $Command $_ })
        idempotent = if ($Notes.ContainsKey('Idempotent')) { [bool] $Notes.Idempotent } else { $null }
        undo       = if ($Notes.ContainsKey('Undo')) { [string] $Notes.Undo } else { $null }
        permissions = @{ graph = @($Notes.Graph | Where-Object { $_ }); exchange = @($Notes.Exchange | Where-Object { $_ }) }
        overrides  = $Notes.Overrides -eq $true
        facts      = Get-FactsIn $Notes
    }
}

# Everything else that the manifest says. The worker refuses what it does not know.
function Get-FactsIn([hashtable] $Notes) {
    $facts = @{}
    foreach ($key in $Notes.Keys) {
        if ($key -notin 'Idempotent', 'Undo', 'Graph', 'Exchange', 'Overrides') { $facts[$key] = $Notes[$key] }
    }
    $facts
}

function Import-ForWorker([string] $Path) {
    $module = Import-Module -Name $Path -Force -Global -PassThru -DisableNameChecking
    $own = @{}
    if ($module.PrivateData -is [hashtable] -and $module.PrivateData.Matoolkit -is [hashtable]) { $own = $module.PrivateData.Matoolkit }
    $connects = @($own.Connect | Where-Object { $_ })
    $required = @($module.RequiredModules | ForEach-Object { $_.Name })
    if (-not $own.ContainsKey('Connect')) {
        if ($required -like 'Microsoft.Graph*') { $connects += 'graph' }
        if ($required -contains $moduleOf.exchange) { $connects += 'exchange' }
    }
    # A module that says nothing gets what there is, as scripts of the earlier system did.
    $isDefault = $connects.Count -eq 0 -and -not $own.ContainsKey('Connect')
    if ($isDefault) { $connects = @(Get-ServicesInstalled) }
    $functions = foreach ($command in $module.ExportedFunctions.Values) {
        $connectsOf[$command.Name] = @{ services = $connects; isDefault = $isDefault }
        $notes = Get-NotesInHelp $command.Name
        if ($own.Functions -is [hashtable] -and $own.Functions[$command.Name] -is [hashtable]) {
            foreach ($key in $own.Functions[$command.Name].Keys) { $notes[$key] = $own.Functions[$command.Name][$key] }
        }
        Get-FunctionDescription $command $notes
    }
    @{ path = $Path; connects = $connects; isDefault = $isDefault; functions = @($functions) }
}

function Get-ServicesInstalled {
    foreach ($service in 'graph', 'exchange') {
        if (Get-Module -ListAvailable -Name $moduleOf[$service]) { $service }
    }
}

# What the help says after a line `matoolkit:` in its .NOTES, one `Key: value` a line. The manifest says the same, and counts first.
function Get-NotesInHelp([string] $Name) {
    $notes = @{}
    $text = ((Get-Help -Name $Name -ErrorAction SilentlyContinue).alertSet.alert.Text) -join "`n"
    $isOurs = $false
    foreach ($line in $text -split '\r?\n') {
        if ($line -match '^\s*matoolkit:\s*$') { $isOurs = $true; continue }
        if (-not $isOurs) { continue }
        if ($line.Trim() -eq '') { break }
        if ($line -notmatch '^\s*(\w+):\s*(.+?)\s*$') { throw "The notes of $Name have a line that is not 'Key: value': $($line.Trim())" }
        $key, $value = $Matches[1], $Matches[2]
        if ($key -in 'Graph', 'Exchange', 'UndoneBy') { $notes[$key] = @($value -split '\s*,\s*') }
        elseif ($value -in 'true', 'false') { $notes[$key] = $value -eq 'true' }
        else { $notes[$key] = $value }
    }
    $notes
}

function Get-Modules([object[]] $Paths) {
    foreach ($path in $Paths) {
        try { Import-ForWorker $path }
        catch { @{ path = $path; problem = $_.Exception.Message } }
    }
}

function Connect-Tenant([string] $FunctionName, [hashtable] $Session) {
    $global:Matoolkit = @{ JobId = $Session.jobId; TenantId = $Session.tenantId; Organization = $Session.organization }
    $isDefault = $connectsOf[$FunctionName].isDefault
    foreach ($service in $connectsOf[$FunctionName].services) {
        $token = $Session.tokens[$service]
        if (-not $token -and $isDefault) { continue }
        if (-not $token) { throw "Function $FunctionName needs a connection to $service, and this worker has no tenant." }
        $global:Matoolkit["$($service)Token"] = ConvertTo-SecureString -String $token -AsPlainText -Force
        try { Connect-Service $service $Session }
        catch {
            if (-not $isDefault) { throw }
            throw "The connection to $service failed, which a module gets unless its manifest says PrivateData.Matoolkit.Connect = @(): $($_.Exception.Message)"
        }
    }
}

# Once for each token: a connection must not outlive the sign-in.
function Connect-Service([string] $Service, [hashtable] $Session) {
    $token = $Session.tokens[$Service]
    if ($connectedWith[$Service] -eq $token) { return }
    if ($Service -eq 'graph') {
        $environments = @{ public = 'Global'; usgov = 'USGov'; usdod = 'USGovDoD'; china = 'China' }
        $secure = ConvertTo-SecureString -String $token -AsPlainText -Force
        Connect-MgGraph -AccessToken $secure -Environment $environments[$Session.cloud] -NoWelcome
    }
    else {
        if ($connectedWith[$Service]) { Disconnect-ExchangeOnline -Confirm:$false }
        $connectedWith.Remove($Service)
        Connect-Exchange $Session
    }
    $connectedWith[$Service] = $token
}

function Connect-Exchange([hashtable] $Session) {
    $environments = @{ public = 'O365Default'; usgov = 'O365USGovGCCHigh'; usdod = 'O365USGovDoD'; china = 'O365China' }
    $to = @{ Organization = $Session.organization; ExchangeEnvironmentName = $environments[$Session.cloud]; ShowBanner = $false }
    if (-not $Session.certificates) { return Connect-ExchangeOnline @to -AccessToken $Session.tokens.exchange }
    $refusal = $null
    # The newest first: while the app does not know it yet, the one before still works.
    foreach ($each in $Session.certificates) {
        try {
            $certificate = [System.Security.Cryptography.X509Certificates.X509Certificate2]::CreateFromPem($each.certificate, $each.key)
            return Connect-ExchangeOnline @to -AppId $Session.appId -Certificate $certificate
        }
        catch { if ($null -eq $refusal) { $refusal = $_ } }
    }
    throw $refusal
}

function Get-Arguments([System.Management.Automation.CommandInfo] $Command, [hashtable] $Given) {
    $arguments = @{}
    foreach ($name in $Given.Keys) {
        # Not the value of an `if`: that turns an empty list into null and a list of one into its element.
        $arguments[$name] = $Given[$name]
        $type = $Command.Parameters[$name].ParameterType
        if ($type -eq [securestring]) { $arguments[$name] = ConvertTo-SecureString -String $Given[$name] -AsPlainText -Force }
        if ($type -eq [byte[]] -and $Given[$name] -is [string]) { $arguments[$name] = [Convert]::FromBase64String($Given[$name]) }
    }
    $arguments
}

function Invoke-ForWorker([hashtable] $Request) {
    Reset-Preferences
    $command = Get-Command -Name $Request.function -CommandType Function
    $null = Connect-Tenant $command.Name $Request
    $arguments = Get-Arguments $command $Request.parameters
    # `break` and `continue` without a loop around them, as in `ForEach-Object { continue }`, leave the nearest loop of any caller. Without this
    # one they left the loop that answers, and the job hung until its deadline.
    $hasReturned = $false
    $script:hasBegun = $true
    do {
        $output = @(& $command @arguments)
        $hasReturned = $true
    } while ($false)
    if (-not $hasReturned) { throw "$($command.Name) left by break or continue outside of a loop: use return." }
    # `return` writes the last object; what came before it was written by accident.
    $result = if ($output.Count -eq 0) { $true } else { $output[-1] }
    @{ result = $result; outputs = $output.Count }
}

# A cmdlet of Exchange for the worker's own functions, answered as the REST endpoint of Microsoft's module would.
function Invoke-Exchange([hashtable] $Request) {
    Reset-Preferences
    $null = Connect-Service 'exchange' $Request
    if (-not $Request.cmdlet) { return @{} }
    $command = Get-Command -Name $Request.cmdlet -CommandType Function
    $arguments = Get-Arguments $command $Request.parameters
    if ($command.Parameters.ContainsKey('Confirm')) { $arguments.Confirm = $false }
    $warnings = @()
    $script:hasBegun = $true
    $output = @(& $command @arguments -ErrorAction Stop -WarningAction SilentlyContinue -WarningVariable warnings)
    @{
        result   = @($output | ForEach-Object { ConvertTo-Row $_ $Request.select })
        warnings = @($warnings | ForEach-Object { "$_" })
    }
}

function ConvertTo-Row([object] $Item, [object[]] $Select) {
    $row = [ordered] @{}
    foreach ($property in $Item.PSObject.Properties) {
        if (-not $Select -or $property.Name -in $Select) { $row[$property.Name] = ConvertTo-Plain $property.Value }
    }
    $row
}

# What the module made into dates, ids and objects of its own becomes text again.
function ConvertTo-Plain([object] $Value) {
    if ($null -eq $Value -or $Value -is [string] -or $Value.GetType().IsPrimitive) { return $Value }
    if ($Value -is [switch]) { return [bool] $Value }
    if ($Value -is [datetime]) { return $Value.ToUniversalTime().ToString('o') }
    if ($Value -is [System.Collections.IDictionary]) {
        $table = @{}
        foreach ($key in $Value.Keys) { $table["$key"] = ConvertTo-Plain $Value[$key] }
        return $table
    }
    if ($Value -is [System.Collections.IEnumerable]) {
        $list = [System.Collections.Generic.List[object]]::new()
        foreach ($item in $Value) { $list.Add((ConvertTo-Plain $item)) }
        return , $list.ToArray()
    }
    $isOwn = "$($Value.PSObject.TypeNames[0])" -like 'Deserialized.*'
    if ($Value -is [System.Management.Automation.PSCustomObject] -and -not $isOwn) { return ConvertTo-Row $Value }
    "$Value"
}

Send-Answer @{ greeting = $env:MATOOLKIT_GREETING; version = $PSVersionTable.PSVersion.ToString() }
$env:MATOOLKIT_GREETING = $null

while ($null -ne ($line = $reader.ReadLine())) {
    $request = ConvertFrom-Element ([System.Text.Json.JsonDocument]::Parse($line).RootElement)
    $script:hasBegun = $false
    try {
        $answer = switch ($request.ask) {
            'modules' { @{ modules = @(Get-Modules $request.paths) } }
            'run' { Invoke-ForWorker $request }
            'exchange' { Invoke-Exchange $request }
            default { throw "Unknown request: $($request.ask)" }
        }
        $answer.id = $request.id
        Send-Answer $answer
    }
    catch {
        Send-Answer @{ id = $request.id; failure = Get-FailureOf $_ }
    }
}
