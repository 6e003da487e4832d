// Rights between people who move in different waves, in two sandbox tenants. Contoso has people of its own with the same aliases.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openSandbox } from '../../sandbox/sandbox.ts'
import { findMembersByKey } from '../../src/db/state/members.ts'
import { recordWorker } from '../../src/db/state/workers.ts'
import { retryMembers } from '../../src/engine/orders/member-actions.ts'
import { because, order } from './looking.ts'
import { workersIn } from './tenant-workers.ts'
import { START, story } from './world.ts'

const WORKERS = { 'contoso-worker': 0, 'fabrikam-worker': 1 }
const at = (tenant: 'contoso' | 'fabrikam', name: string, call: string, params: string) =>
  `      - {name: ${name}, worker_id: ${tenant}-worker, function: ${call}, params: {${params}}`

const RUNBOOK = (rights: string) => `name: moving
data_source: {type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When}
people:
  worker_id: contoso-worker
  source: ["{{UserPrincipalName}}", "{{SourceAddresses}}"]
  target: "{{AccountId}}"
phases:
  - name: cutover
    offset: T-0
    steps:
${at('fabrikam', 'read', 'Get-ExchangeMoveSource', 'Identity: "{{UserPrincipalName}}"')}, output_params: {SourceAddresses: EmailAddresses, SendAs: SendAs, SendOnBehalf: SendOnBehalf}}
${at('contoso', 'account', 'New-EntraUser', 'DisplayName: "{{Name}}", UserPrincipalName: "{{Name}}.new@contoso.example", MailNickname: "{{Name}}.new"')}, output_params: {AccountId: Id}}
${at('contoso', 'mailbox', 'Add-EntraUserLicense', 'UserId: "{{AccountId}}", SkuId: ENTERPRISEPACK, UsageLocation: DE')}}
${at('contoso', 'rights', 'Add-ExchangeMailboxPermission', rights)}}
${at('contoso', 'rights-of-earlier', 'Add-ExchangeMailboxPermission', 'Identity: "{{waiting:SendAs}}", SendAs: "{{AccountId}}"')}}
${at('contoso', 'behalf-of-earlier', 'Add-ExchangeMailboxPermission', 'Identity: "{{waiting:SendOnBehalf}}", SendOnBehalf: "{{AccountId}}"')}}
`
/** Dora was moved by hand, long ago. */
const MOVED_ALREADY = `name: moved-already
data_source: {type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time: immediate}
people: {worker_id: contoso-worker, source: ["{{UserPrincipalName}}"], target: "{{TargetUpn}}"}
phases:
  - name: look
    offset: T-0
    steps:
${at('contoso', 'look', 'Test-EntraAttributeMatch', 'UserId: "{{TargetUpn}}", AttributeName: accountEnabled, ExpectedValue: true')}}
`
const MAPPED =
  'Identity: "{{AccountId}}", SendAs: "{{person:SendAs}}", SendOnBehalf: "{{person:SendOnBehalf}}"'
const RAW = 'Identity: "{{AccountId}}", SendAs: "{{SendAs}}"'

const inFabrikam = (name: string, more = {}) => ({
  userPrincipalName: `${name}@fabrikam.example`,
  recipient: { kind: 'mailbox' as const, ...more },
})
const stranger = (name: string) => ({
  userPrincipalName: `${name}@contoso.example`,
  recipient: { kind: 'mailbox' as const },
})
const DELEGATES = {
  sendAs: ['ben@fabrikam.example', 'cleo@fabrikam.example', 'S-1-5-21-1-2-3-500'],
  sendOnBehalf: ['ben', 'dora'],
  fullAccess: ['ben@fabrikam.example'],
}
const SEED = {
  tenants: [
    {
      domains: ['contoso.example'],
      users: ['ben', 'cleo', 'dora', 'dora.moved'].map(stranger),
    },
    {
      domains: ['fabrikam.example'],
      users: [
        inFabrikam('ada', DELEGATES),
        ...['ben', 'cleo', 'dora'].map((one) => inFabrikam(one)),
      ],
    },
  ],
}
const member = (name: string) => ({
  key: `${name}@fabrikam.example`,
  data: { UserPrincipalName: `${name}@fabrikam.example`, Name: name },
})

it('a delegate gets the right when both have moved, in either order, and no namesake ever does', () =>
  story({}, async (world) => {
    const sandbox = await openSandbox({
      clock: world.clock,
      seed: SEED,
      timing: { replicationLagSec: 0, exchangeLagSec: 0 },
    })
    try {
      for (const workerId of Object.keys(WORKERS)) {
        const hello = { workerId, version: '1', slots: 100, functions: [] }
        await world.db.transaction((tx) => recordWorker(tx, hello, START))
      }
      world.workers = Object.keys(WORKERS)
      world.answer = workersIn(world, sandbox, WORKERS)
      const users = (tenant: number) => sandbox.state().tenants[tenant]!.users
      const inContoso = (name: string) =>
        users(0).find((one) => one.userPrincipalName === `${name}@contoso.example`)!.recipient!
      const before = structuredClone([
        users(0).filter(({ userPrincipalName }) => !userPrincipalName.includes('.new@')),
        users(1),
      ])
      // Names as the source has them are refused before anything is sent.
      await world.publish(RUNBOOK(RAW))
      const first = await world.batch('moving', [member('ada')])
      await world.settle()
      assert.match(
        (await because(world, 'unresolved')).join(),
        /"SendAs" was read by worker "fabrikam-worker" in another one: write {{person:SendAs}}/,
      )
      assert.deepEqual(inContoso('ada.new').sendAs, [])
      await world.publish(MOVED_ALREADY)
      const dora = member('dora')
      const data = { ...dora.data, TargetUpn: 'dora.moved@contoso.example' }
      await world.batch('moved-already', [{ ...dora, data }])
      // Ada moves first, then Ben; Cleo never does.
      await world.publish(RUNBOOK(MAPPED))
      const [ada] = await findMembersByKey(world.db, first, [member('ada').key])
      await retryMembers(world.engine, { ...order(first), memberIds: [ada!.id] })
      await world.settle()
      assert.deepEqual(await because(world, 'people_wait'), [
        'left out until they have an account in the target: "ben@fabrikam.example", "cleo@fabrikam.example"',
      ])
      assert.deepEqual(
        [inContoso('ada.new').sendAs, inContoso('ada.new').sendOnBehalf],
        [[], ['dora.moved']],
      )
      await world.batch('moving', [member('ben')], { startsInMin: 1 })
      await world.pass(60)
      assert.deepEqual(inContoso('ada.new').sendAs, ['ben.new@contoso.example'])
      assert.deepEqual(inContoso('ada.new').sendOnBehalf, ['dora.moved', 'ben.new'])
      assert.deepEqual(inContoso('ada.new').fullAccess, [], 'it moves with the mailbox')
      assert.deepEqual(inContoso('ben.new').sendAs, [])
      const after = [
        users(0).filter(({ userPrincipalName }) => !userPrincipalName.includes('.new@')),
        users(1),
      ]
      assert.deepEqual(after, before, 'nobody of Contoso or Fabrikam was touched')
    } finally {
      await sandbox.close()
    }
  }))
