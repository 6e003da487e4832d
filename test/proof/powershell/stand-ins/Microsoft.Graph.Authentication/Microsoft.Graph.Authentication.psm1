# Stands for Microsoft's module of the same name: the names and parameters that scripts use, against the sandbox at SANDBOX_URL.
$script:token = $null

function Connect-MgGraph {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [securestring] $AccessToken, [string] $Environment = 'Global', [switch] $NoWelcome)
    $script:token = $AccessToken
    if (-not $NoWelcome) { Write-Host 'Welcome to Microsoft Graph!' }
}

function Disconnect-MgGraph { $script:token = $null }

function Get-MgContext {
    if ($null -ne $script:token) { [pscustomobject] @{ AuthType = 'UserProvidedAccessToken' } }
}

function Invoke-MgGraphRequest {
    [CmdletBinding()]
    param([string] $Method = 'GET', [Parameter(Mandatory)] [string] $Uri, [object] $Body)
    if ($null -eq $script:token) { throw 'Authentication needed. Please call Connect-MgGraph.' }
    $path = $Uri -replace '^https://graph\.microsoft\.com', ''
    $request = @{ Method = $Method; Uri = "$env:SANDBOX_URL/$($path.TrimStart('/'))"; Authentication = 'Bearer'; Token = $script:token; AllowUnencryptedAuthentication = $true }
    if ($null -ne $Body) {
        $request.Body = if ($Body -is [string]) { $Body } else { ConvertTo-Json $Body -Depth 10 -Compress }
        $request.ContentType = 'application/json'
    }
    $answer = Invoke-RestMethod @request
    if ($null -ne $answer -and $answer -isnot [string]) { ConvertTo-Json $answer -Depth 20 | ConvertFrom-Json -AsHashtable }
}

Export-ModuleMember -Function *-Mg*
