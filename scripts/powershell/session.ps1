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
        $exception = New-Object System.InvalidOperationException "Cannot send a token to ${Url}: without https others could read it. Use an https address."
        $PSCmdlet.ThrowTerminatingError((New-Object System.Management.Automation.ErrorRecord $exception, 'HTTPS_NEEDED', 'SecurityError', $Url))
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
    .EXAMPLE
    Disconnect-Matoolkit
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
function ConvertTo-MatError {
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
        [string] $Method, [string] $Path, [System.Collections.Generic.Dictionary[string, object]] $Bound,
        [string[]] $InPath, [string[]] $InQuery, [string[]] $InBody,
        [switch] $Creates, [switch] $Upload, [switch] $Paged
    )
    if (-not $script:MatSession) {
        $exception = New-Object System.InvalidOperationException 'Not connected. Run Connect-Matoolkit first.'
        $PSCmdlet.ThrowTerminatingError((New-Object System.Management.Automation.ErrorRecord $exception, 'NOT_CONNECTED', 'ConnectionError', $null))
    }
    foreach ($name in $InPath) {
        $Path = $Path.Replace('{' + (ConvertTo-MatName $name) + '}', [uri]::EscapeDataString((ConvertTo-MatText $Bound[$name])))
    }
    $query = @{}
    foreach ($name in $InQuery) {
        if ($Bound.ContainsKey($name)) { $query[(ConvertTo-MatName $name)] = ConvertTo-MatText $Bound[$name] }
    }
    $body = @{}
    foreach ($name in $InBody) {
        if ($Bound.ContainsKey($name)) { $body[(ConvertTo-MatName $name)] = $Bound[$name] }
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
        catch { $PSCmdlet.ThrowTerminatingError((ConvertTo-MatError -Failure $_ -Uri $uri)) }
        if ([string]$response.Headers['Content-Type'] -notmatch 'json') { return $response.Content }
        $answer = $response.Content | ConvertFrom-Json
        $list = @($answer.PSObject.Properties | Where-Object { $_.Value -is [array] })
        if (-not $Paged -or -not $answer.PSObject.Properties['next'] -or $list.Count -ne 1) { return $answer }
        $list[0].Value
        if (-not $answer.next) { return }
        $query['cursor'] = $answer.next
    }
}
