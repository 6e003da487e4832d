# Stands for Microsoft's module of the same name.
function Get-MgUser {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $UserId, [string[]] $Property)
    $query = if ($Property) { '?$select=' + ($Property -join ',') }
    $user = Invoke-MgGraphRequest -Uri "/v1.0/users/$([uri]::EscapeDataString($UserId))$query"
    $told = [ordered] @{}
    # Its objects have names with a capital.
    foreach ($name in $user.Keys) { $told[$name.Substring(0, 1).ToUpper() + $name.Substring(1)] = $user[$name] }
    [pscustomobject] $told
}

function Update-MgUser {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $UserId, [string] $DisplayName, [string] $Department, [hashtable] $BodyParameter = @{})
    foreach ($name in 'DisplayName', 'Department') {
        if ($PSBoundParameters.ContainsKey($name)) { $BodyParameter[$name.Substring(0, 1).ToLower() + $name.Substring(1)] = $PSBoundParameters[$name] }
    }
    $null = Invoke-MgGraphRequest -Method PATCH -Uri "/v1.0/users/$([uri]::EscapeDataString($UserId))" -Body $BodyParameter
}
