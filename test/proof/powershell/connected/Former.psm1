# Written as for the earlier system: it connects to nothing, declares nothing, and uses both services.

function Set-FormerDepartment {
    <#
    .SYNOPSIS
        Writes a department, and an address of that name.
    .NOTES
        Author: the owner of the directory
    #>
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $UserId, [Parameter(Mandatory)] [string] $Department)
    Update-MgUser -UserId $UserId -Department $Department -ErrorAction Stop
    Set-MailUser -Identity $UserId -EmailAddresses @{ Add = "smtp:$Department@contoso.example" } -ErrorAction Stop
    $user = Get-MgUser -UserId $UserId -Property 'DisplayName', 'Department'
    $addresses = (Get-MailUser -Identity $UserId).EmailAddresses
    return [PSCustomObject] @{ Name = $user.DisplayName; Department = $user.Department; HasAddress = $addresses -contains "smtp:$Department@contoso.example" }
}

function Test-FormerConnections {
    return [PSCustomObject] @{ Graph = [bool] (Get-MgContext); Exchange = (Get-ConnectionInformation).State }
}

function Get-FormerMissing { Get-MailUser -Identity 'nobody@contoso.example' -ErrorAction Stop }

function Invoke-FormerCopy {
    <#
    .SYNOPSIS
        Says in its help what a manifest could say.
    .NOTES
        Author: the owner of the directory
        matoolkit:
          Effect: changes
          Idempotent: true
          Undo: Set-FormerDepartment with the department from before.
          UndoneBy: Set-FormerDepartment, Get-FormerMissing
          Graph: User.ReadWrite.All

        Version: 2
    #>
    param()
    return $true
}
