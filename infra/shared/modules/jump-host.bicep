// A way in without a VPN: a small machine without a public address, reached through Bastion with your Entra sign-in
// (`az network bastion ssh --auth-type AAD`). Commands that need the vault or the API run there; it can also be a runner of pipelines.
param name string
param location string
param networkId string
param subnetPrefix string
param bastionPrefix string
param sshPublicKey string
param userName string
param tags object

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' existing = {
  name: last(split(networkId, '/'))
}

resource subnet 'Microsoft.Network/virtualNetworks/subnets@2025-05-01' = {
  parent: network
  name: 'snet-jump-host'
  // It installs programs. Azure's default becomes false.
  properties: { addressPrefix: subnetPrefix, defaultOutboundAccess: true }
}

// Azure wants this name, and changes one subnet of a network at a time.
resource bastionSubnet 'Microsoft.Network/virtualNetworks/subnets@2025-05-01' = {
  parent: network
  name: 'AzureBastionSubnet'
  properties: { addressPrefix: bastionPrefix }
  dependsOn: [subnet]
}

resource address 'Microsoft.Network/publicIPAddresses@2025-05-01' = {
  name: '${name}-bastion'
  location: location
  tags: tags
  sku: { name: 'Standard' }
  properties: { publicIPAllocationMethod: 'Static' }
}

resource bastion 'Microsoft.Network/bastionHosts@2025-05-01' = {
  name: '${name}-bastion'
  location: location
  tags: tags
  sku: { name: 'Standard' }
  properties: {
    enableTunneling: true
    ipConfigurations: [
      {
        name: 'default'
        properties: {
          subnet: { id: bastionSubnet.id }
          publicIPAddress: { id: address.id }
        }
      }
    ]
  }
}

resource card 'Microsoft.Network/networkInterfaces@2025-05-01' = {
  name: '${name}-jump-host'
  location: location
  tags: tags
  properties: {
    ipConfigurations: [
      {
        name: 'default'
        properties: { subnet: { id: subnet.id } }
      }
    ]
  }
}

resource machine 'Microsoft.Compute/virtualMachines@2025-04-01' = {
  name: '${name}-jump-host'
  location: location
  tags: tags
  identity: { type: 'SystemAssigned' }
  properties: {
    hardwareProfile: { vmSize: 'Standard_B2s_v2' }
    securityProfile: {
      securityType: 'TrustedLaunch'
      uefiSettings: { secureBootEnabled: true, vTpmEnabled: true }
    }
    storageProfile: {
      imageReference: {
        publisher: 'Canonical'
        offer: 'ubuntu-24_04-lts'
        sku: 'server'
        version: 'latest'
      }
      osDisk: { createOption: 'FromImage', managedDisk: { storageAccountType: 'StandardSSD_LRS' } }
    }
    osProfile: {
      computerName: 'jump-host'
      adminUsername: userName
      linuxConfiguration: {
        disablePasswordAuthentication: true
        ssh: { publicKeys: [{ path: '/home/${userName}/.ssh/authorized_keys', keyData: sshPublicKey }] }
      }
    }
    networkProfile: { networkInterfaces: [{ id: card.id }] }
  }
}

resource signIn 'Microsoft.Compute/virtualMachines/extensions@2025-04-01' = {
  parent: machine
  name: 'AADSSHLoginForLinux'
  location: location
  tags: tags
  properties: {
    publisher: 'Microsoft.Azure.ActiveDirectory'
    type: 'AADSSHLoginForLinux'
    typeHandlerVersion: '1.0'
    autoUpgradeMinorVersion: true
  }
}
