// Three runbooks in the style of the earlier system, played from their source to a sandbox tenant: scheduler, engine, the worker's
// own code and Microsoft 365. Each story looks at the tenant in the end: what must be there, and what must not have happened.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { recordWorker } from '../../src/db/state/workers.ts'
import { MATERIAL, type MaterialName } from '../fixtures/earlier/material.ts'
import { type Setting, within } from '../m365/functions/setting.ts'
import { ADA, id, LEAD, NEWCOMERS, NOBODY } from '../m365/functions/tenants.ts'
import { attemptsOf, because } from './looking.ts'
import { at, batchesOf, type Programme, type Row, startProgramme } from './programme.ts'
import { type Answer, type Job, START, story } from './world.ts'

const WORKER = 'worker-01'

/** The author's own modules; everything else is a standard function. */
const OWN = ['New-WaveRecord', 'Send-AdminAlert']

interface Played {
  readonly programme: Programme
  readonly tenant: Setting
  /** Time passes for the system and for the tenant. */
  pass(seconds: number): Promise<void>
}

function play(
  name: MaterialName,
  edit: (yaml: string) => string,
  tell: (played: Played) => Promise<void>,
): Promise<void> {
  return within({}, (tenant) =>
    story({}, async (world) => {
      const worker = { workerId: WORKER, version: '1', slots: 4, functions: [] }
      await world.db.transaction((tx) => recordWorker(tx, worker, START))
      world.workers = [WORKER]
      world.answer = (job) => answerOf(tenant, job)
      const yaml = edit(readFileSync(MATERIAL[name], 'utf8'))
      const programme = await startProgramme(world, yaml)
      const pass = async (seconds: number) => {
        await tenant.clock.wait(seconds * 1_000)
        await programme.pass(seconds)
      }
      await tell({ programme, tenant, pass })
    }),
  )
}

const asWritten = (yaml: string) => yaml

async function answerOf(tenant: Setting, { functionName, parameters }: Job): Promise<Answer> {
  if (OWN.includes(functionName)) return { ok: true }
  const { status, result, error } = await tenant.run(functionName, parameters)
  if (status === 'Success') return { ok: result as Json }
  return {
    fail: error!.message!,
    ...(error!.effect === 'none' && { effect: 'none' }),
    ...(error!.isFinal && { isFinal: true }),
  }
}

const usersOf = ({ sandbox }: Setting) => sandbox.state().tenants[0]!.users
const groupOf = ({ sandbox }: Setting) =>
  sandbox.state().tenants[0]!.groups.find((group) => group.id === NEWCOMERS)!

/** The functions that ran, with how often. */
function functionsRun({ jobs }: Programme): Record<string, number> {
  const runs: Record<string, number> = {}
  for (const { functionName } of jobs) runs[functionName] = (runs[functionName] ?? 0) + 1
  return runs
}

// --- Group remediation ---------------------------------------------------------------------------

const fix = (number: number, Action: string, UserId: string, GroupId: string = NEWCOMERS): Row => ({
  FixId: `fix-${number}`,
  Action,
  UserId,
  GroupId,
  ShouldBeMember: Action.startsWith('Add-'),
})

it('group remediation adds and removes, checks both, and one wrong row harms nobody else', () =>
  play('group-remediation', asWritten, async ({ programme, tenant, pass }) => {
    await programme.tick([
      fix(1, 'Add-EntraGroupMember', ADA),
      fix(2, 'Remove-EntraGroupMember', LEAD),
      fix(3, 'Add-EntraGroupMember', ADA, NOBODY),
      fix(4, 'Ad-EntraGroupMember', ADA),
    ])
    await pass(30)
    assert.deepEqual(await batchesOf(programme), [
      '0.08333333333333333h completed: fix-1, fix-2, fix-3 failed, fix-4 failed',
    ])
    assert.deepEqual([...groupOf(tenant).members], [ADA])
    assert.deepEqual(tenant.effects(), ['member added', 'member removed'])
    assert.equal(functionsRun(programme)['Test-EntraGroupMembership'], 2, 'one check each')
    // The source no longer lists what is done: nobody leaves, and nothing runs again.
    const jobsBefore = programme.jobs.length
    for (const rows of [[], [], [fix(5, 'Add-EntraGroupMember', ADA)]]) await programme.tick(rows)
    assert.deepEqual(
      programme.jobs.slice(jobsBefore).map(({ functionName }) => functionName),
      ['Add-EntraGroupMember', 'Test-EntraGroupMembership'],
    )
    assert.deepEqual(tenant.effects(), ['member added', 'member removed'])
  }))

it('a negative check keeps polling, and fails when the time is over', () =>
  play('group-remediation', asWritten, async ({ programme, tenant, pass }) => {
    await programme.tick([{ ...fix(1, 'Remove-EntraGroupMember', LEAD), ShouldBeMember: 'true' }])
    for (let waited = 0; waited < 300; waited += 30) await pass(30)
    assert.equal(functionsRun(programme)['Test-EntraGroupMembership'], 10)
    assert.deepEqual(await because(programme, 'time_out'), ['not complete after 300 s of polling'])
    assert.deepEqual(tenant.effects(), ['member removed'])
  }))

// --- User migration ------------------------------------------------------------------------------

const person = (number: number, upn: string, objectId: string): Row => ({
  SourceId: `source-${number}`,
  DisplayName: `Person ${number}`,
  TargetUpn: upn,
  TargetObjectId: objectId,
  SourceMail: `person${number}@contoso.example`,
  ExchangeGuid: id(700 + number),
  ProxyAddresses: ' a@contoso.example; ;b@contoso.example',
  CutoverAt: at(6 * 24),
})

const EXISTING = [
  person(1, 'ada@contoso.example', ADA),
  person(2, 'lead@contoso.example', LEAD),
] as const

/** The accounts that were there before are there still, untouched. */
function requireUntouched(tenant: Setting): void {
  const kept = usersOf(tenant).filter((user) => user.id === ADA || user.id === LEAD)
  assert.deepEqual(
    kept.map(({ deletedDateTime }) => deletedDateTime ?? null),
    [null, null],
  )
  assert.deepEqual(tenant.effects(), [])
}

const withoutDisplayName = (yaml: string) =>
  yaml.replace('DisplayName: "{{DisplayName}}"\n          ', '')

it('a user migration without DisplayName is refused once, and rolls nothing back', () =>
  play('user-migration', withoutDisplayName, async ({ programme, tenant, pass }) => {
    await programme.tick(EXISTING)
    await programme.tickUntil(25)
    for (const seconds of [60, 60, 600]) await pass(seconds)
    assert.deepEqual(functionsRun(programme), { 'New-WaveRecord': 1, 'New-EntraUser': 2 })
    assert.deepEqual(await attemptsOf(programme), [
      'init-1 succeeded',
      'step-2 refused',
      'step-3 refused',
    ])
    assert.deepEqual(await because(programme, 'rollback_skipped'), [
      'rollback undo-create is not needed: no attempt did anything',
      'rollback undo-create is not needed: no attempt did anything',
    ])
    assert.deepEqual(await because(programme, 'retry'), [])
    assert.deepEqual(await batchesOf(programme), ['144h active: source-1 failed, source-2 failed'])
    requireUntouched(tenant)
  }))

it('a user migration as written creates an account without MailNickname, and leaves accounts alone that it did not create', () =>
  play('user-migration', asWritten, async ({ programme, tenant, pass }) => {
    await programme.tick([...EXISTING, person(3, 'new.person@contoso.example', NOBODY)])
    await programme.tickUntil(25)
    for (const seconds of [60, 60, 600]) await pass(seconds)
    const runs = functionsRun(programme)
    assert.equal(runs['Remove-EntraUser'], undefined, 'no rollback')
    assert.deepEqual(await batchesOf(programme), [
      '144h active: source-1 failed, source-2 failed, source-3',
    ])
    assert.deepEqual(tenant.effects(), ['user created'])
    const kept = usersOf(tenant).filter((user) => user.id === ADA || user.id === LEAD)
    assert.deepEqual(
      kept.map(({ userPrincipalName, deletedDateTime }) => [userPrincipalName, deletedDateTime]),
      [
        ['ada@contoso.example', null],
        ['lead@contoso.example', null],
      ],
    )
  }))

// --- Provisioning --------------------------------------------------------------------------------

const forSqlServer = (yaml: string) =>
  yaml.replace('SQL_CONNECTION_STRING', 'MATOOLKIT_SOURCE_SQL_CONNECTION_STRING')

/** The source spells its columns as it likes, and pads its keys. */
const joiner = (number: number): Row => ({
  Employee_No: `  E-${number} `,
  FULL_NAME: `Joiner ${number}`,
  Upn: `joiner${number}@contoso.example`,
  Alias: `joiner${number}`,
  Group_Id: NEWCOMERS,
})

it('provisioning from type sql creates accounts, waits for them and adds them to their group', () =>
  play('provisioning', forSqlServer, async ({ programme, tenant, pass }) => {
    await programme.tick([joiner(1), joiner(2)])
    for (const seconds of [30, 30, 30]) await pass(seconds)
    assert.deepEqual(await batchesOf(programme), ['0.08333333333333333h completed: E-1, E-2'])
    const made = usersOf(tenant).filter(({ userPrincipalName }) =>
      userPrincipalName.startsWith('joiner'),
    )
    assert.deepEqual(
      made.map(({ displayName, accountEnabled }) => [displayName, accountEnabled]),
      [
        ['Joiner 1', true],
        ['Joiner 2', true],
      ],
    )
    assert.deepEqual(
      [...groupOf(tenant).members].sort(),
      [LEAD, ...made.map((user) => user.id)].sort(),
    )
    // The source still lists them: they are done, and nothing runs twice.
    const effects = tenant.effects()
    await programme.tick([joiner(1), joiner(2)])
    assert.deepEqual(tenant.effects(), effects)
    assert.deepEqual(effects.toSorted(), [
      'member added',
      'member added',
      'user created',
      'user created',
    ])
  }))
