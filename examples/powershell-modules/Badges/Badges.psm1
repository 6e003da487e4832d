# Three functions, one per kind of result. matoolkit has called Connect-MgGraph before each of them.

function Set-BadgeOffice {
    <#
    .SYNOPSIS
    Writes the office that is printed on the badge.
    #>
    [CmdletBinding()]
    param(
        [Parameter(Mandatory, HelpMessage = 'Id or user principal name')] [string] $UserId,
        [Parameter(Mandatory)] [string] $Office,
        [ValidateSet('Blue', 'Green')] [string] $Colour = 'Blue'
    )
    $body = @{ officeLocation = "$Office ($Colour)" }
    Invoke-MgGraphRequest -Method PATCH -Uri "/v1.0/users/$([uri]::EscapeDataString($UserId))" -Body $body
    return $true
}

function Get-Badge {
    <#
    .SYNOPSIS
    Reads what the badge shows.
    #>
    [CmdletBinding()]
    param(
        [Parameter(Mandatory)] [string] $UserId,
        [string[]] $Fields = @('displayName', 'officeLocation')
    )
    $query = '$select=' + ($Fields -join ',')
    $user = Invoke-MgGraphRequest -Method GET -Uri "/v1.0/users/$([uri]::EscapeDataString($UserId))?$query"
    return [pscustomobject] @{ name = $user.displayName; office = $user.officeLocation }
}

function Test-BadgePrinted {
    <#
    .SYNOPSIS
    Reports whether the badge is printed; for steps with poll.
    #>
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $UserId)
    $user = Invoke-MgGraphRequest -Method GET -Uri "/v1.0/users/$([uri]::EscapeDataString($UserId))?`$select=officeLocation"
    return [pscustomobject] @{
        complete = [bool] $user.officeLocation
        data     = @{ office = $user.officeLocation }
    }
}

Export-ModuleMember -Function @('Set-BadgeOffice', 'Get-Badge', 'Test-BadgePrinted')
