@{
    RootModule        = 'Badges.psm1'
    ModuleVersion     = '1.0.0'
    GUID              = '5d6c1f7e-2f0a-4a55-9a37-6a1f0c1f7b52'
    Author            = 'The owner of the badge system'
    Description       = 'Steps of a runbook that deal with badges.'
    PowerShellVersion = '7.4'
    RequiredModules   = @('Microsoft.Graph.Authentication')
    FunctionsToExport = @('Set-BadgeOffice', 'Get-Badge', 'Test-BadgePrinted')

    PrivateData       = @{
        # What matoolkit cannot see in the code. Every entry is optional.
        Matoolkit = @{
            Functions = @{
                'Set-BadgeOffice'   = @{
                    Idempotent = $true
                    Undo       = 'Set-BadgeOffice with the office from before.'
                    Graph      = @('User.ReadWrite.All')
                    Effect     = 'changes'
                    UndoneBy   = @('Set-BadgeOffice')
                    Subject    = 'badges'
                }
                'Get-Badge'         = @{ Graph = @('User.Read.All'); Effect = 'reads'; Subject = 'badges' }
                'Test-BadgePrinted' = @{ Graph = @('User.Read.All'); Effect = 'reads'; Subject = 'badges' }
            }
        }
    }
}
