// We own the cut-over: an hour before it, with all mailboxes copied, a hold, a cancellation or another date really stops it. The tenant's
// own state is the witness, not our tables.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openSandbox, type Sandbox } from '../../sandbox/sandbox.ts'
import type { Seed } from '../../sandbox/state.ts'
import {
  cancelBatch,
  holdBatch,
  rescheduleBatch,
  resumeBatch,
} from '../../src/engine/orders/batch-actions.ts'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import { batchOf, memberId, order, runbook, stepsOf } from './looking.ts'
import { workersIn } from './tenant-workers.ts'
import { type Job, START, story, WORKER, type World } from './world.ts'

const PEOPLE = 3
const HOUR = 3_600
const T0_MIN = 15 * 24 * 60
const numbers = Array.from({ length: PEOPLE }, (_, at) => at + 1)
const guid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

const SEED: Seed = {
  tenants: [
    {
      domains: ['contoso.example'],
      migrationEndpoints: [{ name: 'fabrikam', remoteTenant: 'fabrikam.example' }],
      skus: [
        {
          skuId: guid(1),
          skuPartNumber: 'MOVE',
          enabledUnits: PEOPLE,
          servicePlans: [
            { servicePlanId: guid(2), servicePlanName: 'CROSS_TENANT_USER_DATA_MIGRATION' },
          ],
        },
      ],
      users: numbers.map((number) => ({
        userPrincipalName: `user${number}@contoso.example`,
        assignedLicenses: [{ skuId: guid(1) }],
        proxyAddresses: [`SMTP:user${number}@contoso.example`, `x500:/o=Old/cn=${number}`],
        recipient: {
          kind: 'mailUser' as const,
          exchangeGuid: guid(100 + number),
          externalEmailAddress: `user${number}@fabrikam.example`,
        },
      })),
    },
    {
      domains: ['fabrikam.example'],
      users: numbers.map((number) => ({
        userPrincipalName: `user${number}@fabrikam.example`,
        recipient: {
          kind: 'mailbox' as const,
          exchangeGuid: guid(100 + number),
          legacyExchangeDn: `/o=Old/cn=${number}`,
        },
      })),
    },
  ],
}

const step = (name: string, functionName: string, params: string, more = '') =>
  `{ name: ${name}, worker_id: ${WORKER}, function: ${functionName}, params: { Identity: "{{UserPrincipalName}}", ${params} }${more} }`

const POLL = ', poll: { interval: 5m, timeout: 6h }'
const MINUTES = ', poll: { interval: 1m, timeout: 1h }'
const STOPS = ', on_failure: stop'
const YAML = [
  runbook('wave', {
    'prepare T-14d': [
      step(
        'start-move',
        'Add-MigrationUser',
        'BatchName: "wave-{{_batch_id}}", SourceEndpoint: fabrikam, TargetDeliveryDomain: contoso.example',
      ),
    ],
    'cutover T-0': [
      step('complete', 'Complete-MigrationUser', '', STOPS),
      step('wait', 'Test-MigrationUser', 'WaitFor: Completed', `${POLL}${STOPS}`),
    ],
  }),
  `on_member_removed: [${step('end', 'Remove-MigrationUser', '', MINUTES)}]`,
  `rollbacks: { stop: [${step('stop', 'Stop-MigrationUser', '', MINUTES)}] }`,
].join('\n')

interface Tenants {
  readonly world: World
  readonly batchId: number
  readonly sandbox: Sandbox
  statuses(): string[]
  /** When mailboxes moved, in minutes from the planned cut-over. */
  movedAt(): number[]
  /** Lets time pass in strides that notice everything due. */
  passTo(minutes: number): Promise<void>
}

/** An hour before the cut-over: every mailbox is copied. */
async function anHourBefore(tell: (tenants: Tenants) => Promise<void>): Promise<void> {
  await story({}, async (world) => {
    const timing = {
      mailboxMoveSyncSec: 2 * HOUR,
      mailboxMoveCompleteSec: 60,
      mailboxMoveStopSec: 600,
    }
    const sandbox = await openSandbox({ clock: world.clock, seed: SEED, timing })
    try {
      world.answer = workersIn(world, sandbox, { [WORKER]: 0 })
      await world.publish(YAML)
      const batchId = await world.batch('wave', PEOPLE, { startsInMin: T0_MIN })
      const t0 = +START + T0_MIN * 60_000
      const passTo = async (minutes: number) => {
        while (+world.clock.now() < t0 + minutes * 60_000)
          await world.pass(Math.min(900, (t0 + minutes * 60_000 - +world.clock.now()) / 1000))
      }
      const [target] = [() => sandbox.state().tenants[0]!]
      const tenants: Tenants = {
        world,
        batchId,
        sandbox,
        statuses: () => target().migrationBatches[0]!.mailboxMoves.map(({ status }) => status),
        movedAt: () =>
          sandbox.journal.effects
            .filter(({ what }) => what === 'mailbox moved')
            .map(({ at }) => (Date.parse(at) - t0) / 60_000),
        passTo,
      }
      await world.pass(24 * HOUR)
      await world.pass(T0_MIN * 60 - 25 * HOUR)
      const mailboxes = await world.answer(probe(1))
      assert.partialDeepStrictEqual(mailboxes, { ok: { complete: true } })
      assert.deepEqual(tenants.statuses(), ['Synced', 'Synced', 'Synced'])
      await tell(tenants)
      const batches = target().migrationBatches
      assert.deepEqual([batches.length, batches[0]!.completeAfter], [1, null], 'no date of theirs')
    } finally {
      await sandbox.close()
    }
  })
}

const probe = (number: number) =>
  ({
    jobId: 'probe',
    batchId: 1,
    workerId: WORKER,
    functionName: 'Test-MigrationUser',
    parameters: { Identity: `user${number}@contoso.example`, WaitFor: 'Synced' },
  }) as unknown as Job

it('goes ahead at its time when nobody stops it', () =>
  anHourBefore(async ({ passTo, movedAt, statuses, world, batchId }) => {
    await passTo(60)
    assert.deepEqual(statuses(), ['Completed', 'Completed', 'Completed'])
    assert.deepEqual(
      movedAt().map((minutes) => minutes >= 0 && minutes < 30),
      [true, true, true],
    )
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('does not happen under a hold, and happens after the resume', () =>
  anHourBefore(async ({ world, batchId, passTo, movedAt, statuses }) => {
    await holdBatch(world.engine, order(batchId))
    await passTo(5 * 60)
    assert.deepEqual([statuses(), movedAt()], [['Synced', 'Synced', 'Synced'], []])
    await resumeBatch(world.engine, order(batchId))
    await passTo(12 * 60)
    assert.equal(movedAt().length, PEOPLE)
    assert.ok(movedAt().every((minutes) => minutes >= 5 * 60))
  }))

it('does not happen after a cancellation, not even days later', () =>
  anHourBefore(async ({ world, batchId, passTo, movedAt, statuses }) => {
    await cancelBatch(world.engine, order(batchId))
    await passTo(2 * 24 * 60)
    // Asked once more: time passes in the tenant only when it is asked.
    await world.answer(probe(1))
    assert.deepEqual([statuses(), movedAt()], [['Synced', 'Synced', 'Synced'], []])
  }))

it('moves to the new time when it is rescheduled', () =>
  anHourBefore(async ({ world, batchId, passTo, movedAt, statuses }) => {
    const startTime = new Date(+START + (T0_MIN + 24 * 60) * 60_000)
    await rescheduleBatch(world.engine, { ...order(batchId), startTime, allowOverdue: false })
    await passTo(23 * 60)
    await world.answer(probe(1))
    assert.deepEqual([statuses(), movedAt()], [['Synced', 'Synced', 'Synced'], []])
    await passTo(26 * 60)
    assert.equal(movedAt().length, PEOPLE)
    assert.ok(movedAt().every((minutes) => minutes >= 24 * 60))
  }))

it('goes ahead without a person who is taken out, although Exchange needs minutes to let go', () =>
  anHourBefore(async ({ world, batchId, passTo, movedAt, statuses }) => {
    const member = await memberId(world, batchId, 2)
    await removeMembers(world.engine, { ...order(batchId), memberIds: [member] })
    await passTo(-55)
    assert.deepEqual(statuses(), ['Synced', 'Removing', 'Synced'])
    assert.equal((await stepsOf(world, member)).at(-1), 'removal end polling')
    await passTo(60)
    assert.deepEqual([statuses(), movedAt().length], [['Completed', 'Completed'], 2])
    assert.equal((await stepsOf(world, member)).at(-1), 'removal end succeeded')
  }))

it('stops for sure when it fails: the rollback ends when Exchange has stopped', () =>
  anHourBefore(async ({ world, batchId, sandbox, passTo, movedAt, statuses }) => {
    const fault = { kind: 'error', status: 500 } as const
    sandbox.setFaults({ script: [{ on: 'Set-MigrationUser', times: 99, fault }] })
    await passTo(5)
    assert.deepEqual(statuses(), ['Stopping', 'Stopping', 'Stopping'])
    const member = await memberId(world, batchId, 1)
    assert.equal((await stepsOf(world, member)).at(-1), 'rollback stop polling')
    sandbox.setFaults({})
    await passTo(60)
    assert.equal((await stepsOf(world, member)).at(-1), 'rollback stop succeeded')
    await passTo(24 * 60)
    await world.answer(probe(1))
    assert.deepEqual([statuses(), movedAt()], [['Stopped', 'Stopped', 'Stopped'], []])
  }))
