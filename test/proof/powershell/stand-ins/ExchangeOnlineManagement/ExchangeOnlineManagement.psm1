# Stands for Microsoft's module of the same name, against the sandbox at SANDBOX_URL. Errors look as its errors do: `id|.NET type|text`.
$script:connection = $null

function Connect-ExchangeOnline {
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [string] $AccessToken, [Parameter(Mandatory)] [string] $Organization,
        [string] $ExchangeEnvironmentName = 'O365Default', [switch] $ShowBanner
    )
    $claims = $AccessToken.Split('.')[1].Replace('-', '+').Replace('_', '/')
    $claims = $claims.PadRight($claims.Length + (4 - $claims.Length % 4) % 4, '=')
    $tenant = ([System.Text.Encoding]::UTF8.GetString([Convert]::FromBase64String($claims)) | ConvertFrom-Json).tid
    $script:connection = @{ token = $AccessToken; tenant = $tenant; organization = $Organization }
}

function Disconnect-ExchangeOnline {
    [CmdletBinding(SupportsShouldProcess, ConfirmImpact = 'High')]
    param()
    if ($PSCmdlet.ShouldProcess('Exchange Online')) { $script:connection = $null }
}

function Get-ConnectionInformation {
    if ($script:connection) { [pscustomobject] @{ State = 'Connected'; Organization = $script:connection.organization } }
}

function Invoke-Cmdlet([string] $Name, [hashtable] $Bound) {
    if (-not $script:connection) { throw "You must call the Connect-ExchangeOnline cmdlet before calling any other cmdlets." }
    $parameters = @{}
    foreach ($key in $Bound.Keys) {
        $value = $Bound[$key]
        if ($value -is [hashtable]) { $value = $value.Clone(); $value['@odata.type'] = '#Exchange.GenericHashTable' }
        if ($key -notin [System.Management.Automation.Cmdlet]::CommonParameters) { $parameters[$key] = $value }
    }
    $request = @{
        Method = 'POST'; Uri = "$env:SANDBOX_URL/adminapi/beta/$($script:connection.tenant)/InvokeCommand"; ContentType = 'application/json'
        Headers = @{ Authorization = "Bearer $($script:connection.token)"; 'x-cmdletname' = $Name; prefer = 'odata.maxpagesize=1000' }
        Body = ConvertTo-Json @{ CmdletInput = @{ CmdletName = $Name; Parameters = $parameters } } -Depth 10
        SkipHttpErrorCheck = $true; StatusCodeVariable = 'status'
    }
    $answer = Invoke-RestMethod @request
    if ($status -ge 400) {
        $reason = $answer.error.details[0].message
        Write-Error -Exception ([System.Exception]::new($(if ($reason) { $reason } else { $answer.error.message })))
    }
    $answer.value
}

function Get-MailUser {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Identity)
    Invoke-Cmdlet 'Get-MailUser' $PSBoundParameters
}

function Set-MailUser {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Identity, [object] $EmailAddresses)
    Invoke-Cmdlet 'Set-MailUser' $PSBoundParameters
}

Export-ModuleMember -Function Connect-*, Disconnect-*, Get-*, Set-*
