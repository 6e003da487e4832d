// The infrastructure without a compiler or a subscription: every file is parsed, its references are followed, and what must never be
// deployed is looked for.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { ROOT } from '../kit/processes.ts'
import { type BicepFile, readBicep } from './bicep.ts'

/** Stable versions that Azure's own type tables of 20 August 2026 list; diagnostic settings have no stable one. */
const TYPES: Readonly<Record<string, string>> = {
  'Microsoft.App/containerApps': '2025-07-01',
  'Microsoft.App/jobs': '2025-07-01',
  'Microsoft.App/managedEnvironments': '2025-07-01',
  'Microsoft.Authorization/roleAssignments': '2022-04-01',
  'Microsoft.Compute/virtualMachines': '2025-04-01',
  'Microsoft.Compute/virtualMachines/extensions': '2025-04-01',
  'Microsoft.ContainerRegistry/registries': '2025-11-01',
  'Microsoft.DBforPostgreSQL/flexibleServers': '2025-08-01',
  'Microsoft.DBforPostgreSQL/flexibleServers/administrators': '2025-08-01',
  'Microsoft.DBforPostgreSQL/flexibleServers/databases': '2025-08-01',
  'Microsoft.DBforPostgreSQL/flexibleServers/firewallRules': '2025-08-01',
  'Microsoft.Insights/actionGroups': '2023-01-01',
  'Microsoft.Insights/components': '2020-02-02',
  'Microsoft.Insights/diagnosticSettings': '2021-05-01-preview',
  'Microsoft.Insights/scheduledQueryRules': '2023-12-01',
  'Microsoft.Insights/workbooks': '2023-06-01',
  'Microsoft.KeyVault/vaults': '2024-11-01',
  'Microsoft.KeyVault/vaults/secrets': '2024-11-01',
  'Microsoft.ManagedIdentity/userAssignedIdentities': '2024-11-30',
  'Microsoft.Network/bastionHosts': '2025-05-01',
  'Microsoft.Network/networkInterfaces': '2025-05-01',
  'Microsoft.Network/privateDnsZones': '2024-06-01',
  'Microsoft.Network/privateDnsZones/A': '2024-06-01',
  'Microsoft.Network/privateDnsZones/virtualNetworkLinks': '2024-06-01',
  'Microsoft.Network/privateEndpoints': '2025-05-01',
  'Microsoft.Network/privateEndpoints/privateDnsZoneGroups': '2025-05-01',
  'Microsoft.Network/publicIPAddresses': '2025-05-01',
  'Microsoft.Network/virtualNetworks': '2025-05-01',
  'Microsoft.Network/virtualNetworks/subnets': '2025-05-01',
  'Microsoft.Network/virtualNetworks/virtualNetworkPeerings': '2025-05-01',
  'Microsoft.OperationalInsights/workspaces': '2025-02-01',
  'Microsoft.ServiceBus/namespaces': '2024-01-01',
  'Microsoft.ServiceBus/namespaces/topics': '2024-01-01',
  'Microsoft.ServiceBus/namespaces/topics/subscriptions': '2024-01-01',
  'Microsoft.ServiceBus/namespaces/topics/subscriptions/rules': '2024-01-01',
  'Microsoft.Storage/storageAccounts': '2025-01-01',
  'Microsoft.Storage/storageAccounts/blobServices': '2025-01-01',
  'Microsoft.Storage/storageAccounts/blobServices/containers': '2025-01-01',
  'Microsoft.Storage/storageAccounts/blobServices/containers/immutabilityPolicies': '2025-01-01',
}

const GUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

describe('the infrastructure', () => {
  let files: BicepFile[]
  const file = (path: string) => files.find((one) => one.path === path)!
  before(async () => {
    files = await readBicep('infra/**/*.bicep')
    assert.ok(files.length >= 15)
  })

  it('has no place that the grammar does not understand', () => {
    assert.deepEqual(
      files.flatMap(({ faults }) => faults),
      [],
    )
  })

  it('uses only names that it declares, and every parameter that it declares', () => {
    for (const { path, used, declared, params } of files) {
      assert.deepEqual(
        [...used].filter((name) => !declared.has(name)),
        [],
        path,
      )
      assert.deepEqual(
        [...params.keys()].filter((name) => !used.has(name)),
        [],
        path,
      )
    }
  })

  it('indexes no collection by the variable of a lambda, which the compiler refuses (BCP247)', () => {
    assert.deepEqual(
      files.flatMap(({ path, indexedByLambda }) =>
        indexedByLambda.map((name) => `${path}: ${name}`),
      ),
      [],
    )
  })

  it('names, repeats and conditions nothing by what is known only while it deploys (BCP120)', () => {
    assert.deepEqual(
      files.flatMap(({ path, tooEarly }) => tooEarly.map((text) => `${path}: ${text}`)),
      [],
    )
  })

  it('writes no address of a cloud that Azure can tell, but for private zones, whose names it cannot', () => {
    const addresses = /[\w.-]*\.(?:azure|windows)\.(?:net|com)|[\w.-]*\.azurecr\.io/g
    const found = files.flatMap(
      ({ text }) => text.replace(/^ *\/\/.*|@description.*/gm, '').match(addresses) ?? [],
    )
    assert.ok(found.length >= 3)
    for (const address of found) assert.match(address, /^privatelink\./)
  })

  it('lets people and pipelines of every linked network find the private names of apps and services', () => {
    const zone = file('infra/automation/modules/environment-zone.bicep').text
    assert.match(
      zone,
      /name: '\*'\n {2}properties: \{\n {4}ttl: \d+\n {4}aRecords: \[\{ ipv4Address: address \}\]/,
    )
    assert.match(
      zone,
      /for networkId in networkIds: \{\n.*\n +name: 'link-\$\{uniqueString\(networkId\)\}'/,
    )
    const main = file('infra/automation/main.bicep').text
    assert.match(
      main,
      /module environmentZone [^=]+= if \(isPrivate\) \{[\s\S]*?networkIds: split\(networkIds, ','\)/,
    )
    const network = file('infra/shared/modules/network.bicep').text
    assert.match(network, /linkedIds = concat\(\[networkId\], peerNetworkIds\)/)
    assert.match(network, /virtualNetwork: \{ id: linkedIds\[/)
    // By its place in the list, the link of one network would become that of another, which Azure refuses.
    assert.match(network, /name: '\$\{name\}-\$\{uniqueString\(linkedIds\[/)
    // A subnet in the text of its network would take away what others made there.
    assert.doesNotMatch(network, /subnets: \[/)
  })

  it('deploys again after a restore, after the disk has grown and the archive was locked, and makes tables only when their job can run', () => {
    const main = file('infra/automation/main.bicep').text
    // Azure leads no endpoint to another server, and no disk becomes smaller.
    assert.match(
      main,
      /module postgresEndpoint [\s\S]*?params: \{\n +name: '\$\{postgresName\}-pe'/,
    )
    const archive = file('infra/shared/modules/archive.bicep').text
    assert.match(archive, /immutabilityPolicies@.* = if \(!isLocked\) \{/)
    assert.match(main, /storageGb: max\(postgresStorageGb, postgresGrownGb\)/)
    assert.match(main, /module migrate [\s\S]*?dependsOn: \[access, postgresEndpoint\]/)
    for (const app of ['role', 'worker'])
      assert.match(main, new RegExp(`module ${app} [^=]+= \\[\\n.*: if \\(withApps\\) \\{`))
  })

  it('calls modules that exist, with all their parameters and no others, and uses outputs that they have', () => {
    for (const { path, modules, outputsUsed } of files) {
      for (const call of modules) {
        const target = file(call.path)
        assert.ok(target, `${path} calls ${call.path}`)
        const unknown = call.params.filter((name) => !target.params.has(name))
        const missing = [...target.params].flatMap(([name, { isRequired }]) =>
          isRequired && !call.params.includes(name) ? [name] : [],
        )
        assert.deepEqual([unknown, missing], [[], []], `${path}: ${call.symbol}`)
      }
      for (const [symbol, output] of outputsUsed) {
        const call = modules.find((one) => one.symbol === symbol)
        assert.ok(call && file(call.path).outputs.includes(output), `${path}: ${symbol}.${output}`)
      }
    }
  })

  it('asks for resource types in versions that exist', () => {
    for (const { path, types } of files)
      for (const type of types) {
        const [name, version] = type.split('@')
        assert.equal(version, TYPES[name!], `${path}: ${type}`)
      }
  })

  it('gives stage 2 what it needs from stage 1', () => {
    const { outputs } = file('infra/shared/main.bicep')
    const { params } = file('infra/automation/main.bicep')
    const own = ['image', 'oidc', 'workers']
    const needed = [...params].flatMap(([name, { isRequired }]) => (isRequired ? [name] : []))
    assert.deepEqual(
      needed.filter((name) => ![...outputs, ...own].includes(name)),
      [],
    )
  })

  it('sets only settings that the program reads, and all that a role needs', () => {
    const documented = read('docs/reference/settings.md')
    const settingsOf = (path: string) =>
      [
        ...file(path).text.matchAll(
          /(?:name|setting): '((?:MATOOLKIT|DATABASE|APPLICATIONINSIGHTS|OTEL)_\w+)'/g,
        ),
      ].map(([, name]) => name!)
    for (const { path } of files)
      for (const name of settingsOf(path))
        assert.ok(documented.includes(`\`${name}\``), `${path}: ${name}`)
    const worker = settingsOf('infra/automation/modules/worker-app.bicep')
    for (const name of [
      'WORKER_ID',
      'TENANT_ID',
      'ORGANIZATION',
      'APP_ID',
      'KEY_VAULT_URL',
      'JOB_KEY',
      'WORKER_REPLICAS',
      // The platform scales.
      'IDLE_EXIT_SEC',
    ])
      assert.ok(worker.includes(`MATOOLKIT_${name}`), name)
    // Keys are switched off there, so the identity signs in.
    for (const app of ['worker-app', 'role-app']) {
      const set = settingsOf(`infra/automation/modules/${app}.bicep`)
      assert.ok(set.includes('APPLICATIONINSIGHTS_CONNECTION_STRING'), app)
      assert.ok(set.includes('APPLICATIONINSIGHTS_AUTHENTICATION_STRING'), app)
    }
    const role = settingsOf('infra/automation/modules/role-app.bicep')
    for (const name of ['NOTIFICATIONS_FILE', 'WINDOWS_FILE', 'ARCHIVE'])
      assert.ok(role.includes(`MATOOLKIT_${name}`), name)
    // A worker at zero replicas announces nothing: the orchestrator must know it to wake it.
    assert.ok(role.includes('MATOOLKIT_DECLARED_WORKERS'))
    assert.match(file('infra/automation/main.bicep').text, /workerIds: map\(workers, /)
    // A worker reaches no database.
    assert.ok(!worker.includes('DATABASE_URL'))
  })

  it('has parameters for each environment, of stage 1 and stage 2: all that are needed and no others', () => {
    for (const stage of ['shared', 'automation'])
      for (const environment of ['dev', 'production']) {
        const given = read(`infra/${stage}/${environment}.bicepparam`)
        const names = [...given.matchAll(/^param (\w+) =/gm)].map(([, name]) => name!)
        const { params } = file(`infra/${stage}/main.bicep`)
        assert.deepEqual(
          names.filter((name) => !params.has(name)),
          [],
        )
        const missing = [...params].filter(
          ([name, { isRequired }]) => isRequired && !names.includes(name),
        )
        assert.deepEqual(missing, [], `${stage} ${environment}`)
        assert.match(given, /^using 'main\.bicep'$/m)
      }
  })

  it('makes database roles for the apps that use the database, with a command that exists', () => {
    const { text } = file('infra/automation/modules/migrate-job.bicep')
    const help = read('docs/reference/commands.md')
    for (const flag of ['--migrate', '--application', '--entra']) {
      assert.ok(text.includes(`'${flag}'`), flag)
      assert.match(help, new RegExp(`^- \`db grant\`.*${flag}`, 'm'), flag)
    }
  })

  it('leaves nothing open and holds no secret', () => {
    for (const { path, text } of files) {
      assert.doesNotMatch(text, /listKeys|SharedAccessKey|AccountKey|@secure\(\)/, path)
      assert.doesNotMatch(text, /publicNetworkAccess: 'Enabled'/, path)
      // Ids of roles are no secrets.
      assert.doesNotMatch(text.replaceAll(GUID, ''), /(?:password|secret|key): '[^'$]{12,}'/i, path)
    }
    const all = files.map(({ text }) => text).join('\n')
    for (const line of [
      'disableLocalAuth: true',
      "minimumTlsVersion: '1.2'",
      'enablePurgeProtection: isPurgeProtected ? true : null',
      'allowSharedKeyAccess: false',
      'allowBlobPublicAccess: false',
      'enableRbacAuthorization: true',
      "passwordAuth: 'Disabled'",
      'adminUserEnabled: false',
      'allowInsecure: false',
      'DisableLocalAuth: true',
      "lifecycle: 'None'",
    ])
      assert.ok(all.includes(line), line)
    const open = all.match(/publicNetworkAccess: \w+ \? '\w+' : '\w+'|publicNetworkAccess: .*/g)!
    assert.deepEqual(
      new Set(open),
      new Set(["publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'"]),
    )
  })

  it('names each role assignment after its principal, so that a new identity gets its own', () => {
    for (const { path, text } of files)
      for (const [assignment] of text.matchAll(
        /resource \w+ 'Microsoft\.Authorization\/roleAssignments@[\s\S]*?name: .*/g,
      ))
        assert.match(assignment, /name: guid\([^,]+, principalId(?:s\W[^,]+)?, [\w.]+\)$/, path)
  })

  it('lets a worker read no secrets but the job key and those of its own vault', () => {
    const { text } = file('infra/automation/modules/access.bicep')
    const assignments = text.split(/^resource /m).filter((one) => one.includes('roleIds.secrets'))
    const ofWorkers = assignments.filter((one) => one.includes('workerIds'))
    assert.deepEqual(
      ofWorkers.map((one) => /scope: (\S+)/.exec(one)![1]),
      ['vault::jobKey'],
    )
    const own = file('infra/automation/modules/worker-app.bicep').text
    assert.match(own, /resource storeSecrets [\s\S]*?scope: ownVault\n/)
    assert.equal([...own.matchAll(/scope: (\w+)/g)].length, 3)
  })

  it('assigns exactly the roles of the table in docs/install.md', () => {
    const table = [...read('docs/install.md').matchAll(/^\| ([\w, ]+) \| ([\w ]+) \| `(\w+)` \|/gm)]
    const documented = table.map(([, , , symbol]) => symbol!).toSorted()
    const assigned = files
      .flatMap(({ text }) => [
        ...text.matchAll(/resource (\w+) 'Microsoft\.Authorization\/roleAssignments@/g),
      ])
      .map(([, symbol]) => symbol!)
    assert.deepEqual(assigned.toSorted(), documented)
  })

  it('makes the topics, subscriptions and filters as the transport expects them', () => {
    const bus = file('infra/shared/modules/service-bus.bicep').text
    for (const line of [
      "['orchestrator-events', 'worker-jobs', 'worker-results']",
      "'PT10M'",
      "'P7D'",
      "'PT1M'",
      'maxDeliveryCount: 10',
      'deadLetteringOnMessageExpiration: true',
    ])
      assert.ok(bus.includes(line), line)
    const worker = file('infra/automation/modules/worker-app.bicep').text
    assert.match(worker, /name: '\$Default'/)
    assert.match(worker, /correlationFilter: \{ properties: \{ WorkerId: worker\.id \} \}/)
  })
})
