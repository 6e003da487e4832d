# Stands for Microsoft's module of the same name, against the sandbox at SANDBOX_URL. As there, the cmdlets exist only while connected, errors
# are `id|.NET type|text`, dates are dates, and lists come whole. SANDBOX_CMDLETS names the cmdlets and their parameters.
$script:connection = $null

function ConvertTo-Base64Url([byte[]] $Bytes) { [Convert]::ToBase64String($Bytes).TrimEnd('=').Replace('+', '-').Replace('/', '_') }

function Get-TokenFor([string] $AppId, [System.Security.Cryptography.X509Certificates.X509Certificate2] $Certificate, [string] $Organization) {
    $utf8 = [System.Text.Encoding]::UTF8
    $url = "$env:SANDBOX_URL/$Organization/oauth2/v2.0/token"
    $now = [DateTimeOffset]::UtcNow.ToUnixTimeSeconds()
    $mark = ConvertTo-Base64Url ([System.Security.Cryptography.SHA256]::HashData($Certificate.RawData))
    $head = @{ alg = 'PS256'; typ = 'JWT'; 'x5t#S256' = $mark } | ConvertTo-Json -Compress
    $claims = @{ aud = $url; iss = $AppId; sub = $AppId; jti = [guid]::NewGuid(); nbf = $now; exp = $now + 600 } | ConvertTo-Json -Compress
    $text = "$(ConvertTo-Base64Url $utf8.GetBytes($head)).$(ConvertTo-Base64Url $utf8.GetBytes($claims))"
    $key = [System.Security.Cryptography.X509Certificates.RSACertificateExtensions]::GetRSAPrivateKey($Certificate)
    $signature = $key.SignData($utf8.GetBytes($text), 'SHA256', [System.Security.Cryptography.RSASignaturePadding]::Pss)
    $form = @{
        client_id = $AppId; scope = 'https://outlook.office365.com/.default'; grant_type = 'client_credentials'
        client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
        client_assertion = "$text.$(ConvertTo-Base64Url $signature)"
    }
    (Invoke-RestMethod -Method POST -Uri $url -Body $form).access_token
}

function Connect-ExchangeOnline {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory, ParameterSetName = 'Token')] [string] $AccessToken,
        [Parameter(Mandatory, ParameterSetName = 'Certificate')] [System.Security.Cryptography.X509Certificates.X509Certificate2] $Certificate,
        [Parameter(Mandatory, ParameterSetName = 'Certificate')] [string] $AppId,
        [Parameter(Mandatory)] [string] $Organization, [string] $ExchangeEnvironmentName = 'O365Default', [switch] $ShowBanner
    )
    $token = if ($Certificate) { Get-TokenFor $AppId $Certificate $Organization } else { $AccessToken }
    $claims = $token.Split('.')[1].Replace('-', '+').Replace('_', '/')
    $claims = $claims.PadRight($claims.Length + (4 - $claims.Length % 4) % 4, '=')
    $tenant = ([System.Text.Encoding]::UTF8.GetString([Convert]::FromBase64String($claims)) | ConvertFrom-Json).tid
    $script:connection = @{ token = $token; tenant = $tenant; organization = $Organization }
    $cmdlets = ConvertFrom-Json $env:SANDBOX_CMDLETS -AsHashtable
    foreach ($name in $cmdlets.Keys) {
        $parameters = foreach ($one in $cmdlets[$name]) {
            $type = switch ($one) { 'Password' { 'securestring' } 'CSVData' { 'byte[]' } default { 'object' } }
            "[$type] `$$one"
        }
        $body = [scriptblock]::Create("[CmdletBinding(SupportsShouldProcess)] param($($parameters -join ', ')) & (Get-Module ExchangeOnlineManagement) { Invoke-Cmdlet @args } '$name' `$PSBoundParameters `$PSCmdlet")
        Set-Item -Path "function:global:$name" -Value $body
    }
}

function Disconnect-ExchangeOnline {
    [CmdletBinding(SupportsShouldProcess, ConfirmImpact = 'High')]
    param()
    if ($PSCmdlet.ShouldProcess('Exchange Online')) { $script:connection = $null }
}

function Get-ConnectionInformation {
    if ($script:connection) { [pscustomobject] @{ State = 'Connected'; Organization = $script:connection.organization } }
}

function ConvertTo-Wire([object] $Value) {
    if ($Value -is [securestring]) { return ConvertFrom-SecureString $Value -AsPlainText }
    if ($Value -is [byte[]]) { return @{ '@odata.type' = '#Exchange.ByteArrayType'; Data = [Convert]::ToBase64String($Value) } }
    if ($Value -isnot [hashtable]) { return , $Value }
    $table = $Value.Clone()
    $table['@odata.type'] = '#Exchange.GenericHashTable'
    $table
}

function Invoke-Cmdlet([string] $Name, [hashtable] $Bound, [System.Management.Automation.PSCmdlet] $Caller) {
    if (-not $script:connection) { throw "You must call the Connect-ExchangeOnline cmdlet before calling any other cmdlets." }
    $parameters = @{}
    foreach ($key in $Bound.Keys) {
        if ($key -notin [System.Management.Automation.Cmdlet]::CommonParameters) { $parameters[$key] = ConvertTo-Wire $Bound[$key] }
    }
    $request = @{
        Method = 'POST'; Uri = "$env:SANDBOX_URL/adminapi/beta/$($script:connection.tenant)/InvokeCommand"; ContentType = 'application/json'
        Headers = @{ Authorization = "Bearer $($script:connection.token)"; 'x-cmdletname' = $Name; prefer = 'odata.maxpagesize=1000' }
        Body = ConvertTo-Json @{ CmdletInput = @{ CmdletName = $Name; Parameters = $parameters } } -Depth 10
    }
    while ($request.Uri) {
        try { $answer = Invoke-RestMethod @request }
        catch {
            $reason = try { ($_.ErrorDetails.Message | ConvertFrom-Json).error.details[0].message } catch { $null }
            if (-not $reason) { throw }
            $id = "[Server=SANDBOX,RequestId=$([guid]::NewGuid()),TimeStamp=$([datetime]::UtcNow.ToString('r'))],Write-ErrorMessage"
            $refusal = [System.Management.Automation.ErrorRecord]::new([System.Exception]::new($reason), $id, 'NotSpecified', $null)
            $refusal.CategoryInfo.Reason = $reason.Split('|')[1].Split('.')[-1]
            $Caller.ThrowTerminatingError($refusal)
        }
        foreach ($warning in $answer.'@adminapi.warnings') { $Caller.WriteWarning($warning) }
        $answer.value
        $request.Uri = $answer.'@odata.nextLink'
    }
}

Export-ModuleMember -Function Connect-*, Disconnect-*, Get-ConnectionInformation
