// Kills a worker in the middle of its jobs, again and again, each time right after the tenant acted and before the worker
// knows; and between the password in the vault and the account. Another worker takes over. In the end the tenant's journal must show
// every effect once.
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts'
import type { Seed } from '../../../sandbox/state.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { type Bus, type OutgoingMessage, WORKER_RESULTS, workerJobs } from '../../../src/bus/bus.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import { type Message, readMessage } from '../../../src/domain/messages/messages.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import type { Params } from '../../m365/functions/cases.ts'
import { id, NEWCOMERS, UNDER_WAY } from '../../m365/functions/tenants.ts'
import type { Part } from './worker-process.ts'

const PEOPLE_EACH = 8
const SLOTS = 8
const LEASE_MS = 2_000
/** The worker dies after so many effects of each kind. */
const KILLED_AT = 4
/** One effect for all the people of a joint call. */
const OF_MANY = 'migration users added'
const WAVE = 'wave 1'
const WORKER_ID = 'mortal'

const upn = (person: number) => `p${person}@contoso.example`
const foreign = (person: number) => `p${person}@fabrikam.example`

/** Each job has its own person; none has two. */
const DEEDS: Readonly<Record<string, (person: number) => Params>> = {
  'New-EntraUser': (person) => ({
    UserPrincipalName: `new${person}@contoso.example`,
    DisplayName: `New ${person}`,
    MailNickname: `new${person}`,
  }),
  'New-ExchangeMailUser': (person) => ({
    UserPrincipalName: `mail${person}@contoso.example`,
    DisplayName: `Mail ${person}`,
    Alias: `mail${person}`,
    ExternalEmailAddress: `mail${person}@fabrikam.example`,
    PrimarySmtpAddress: `mail${person}@contoso.example`,
  }),
  'Set-EntraUserAttribute': (person) => ({
    UserId: id(person),
    AttributeName: 'department',
    Value: 'Sales',
  }),
  'Add-EntraGroupMember': (person) => ({ GroupId: NEWCOMERS, UserId: id(person) }),
  'Add-EntraUserLicense': (person) => ({
    UserId: id(person),
    SkuId: 'AAD_PREMIUM',
    UsageLocation: 'US',
  }),
  'Revoke-EntraUserSessions': (person) => ({ UserId: id(person) }),
  'New-EntraB2BInvitation': (person) => ({
    UserId: id(person),
    InvitedUserEmailAddress: foreign(person),
  }),
  'Remove-EntraUser': (person) => ({ UserId: id(person) }),
  'Set-ExchangePrimaryEmail': (person) => ({ Identity: id(person), NewPrimaryEmail: upn(person) }),
  'New-MigrationBatch': (person) => ({
    Name: `batch ${person}`,
    SourceEndpoint: 'fabrikam',
    TargetDeliveryDomain: 'contoso.example',
    EmailAddresses: upn(person),
  }),
  'Send-Notification': (person) => ({
    From: 'post@contoso.example',
    To: upn(person),
    Subject: `Hello ${person}`,
    Body: '',
  }),
  // Last: it waits for company, and each kill meanwhile would count as a delivery.
  'Add-MigrationUser': (person) => ({
    Identity: upn(person),
    BatchName: WAVE,
    SourceEndpoint: 'fabrikam',
    TargetDeliveryDomain: 'contoso.example',
  }),
}

const JOBS = Object.entries(DEEDS).flatMap(([functionName, paramsFor], at) =>
  Array.from({ length: PEOPLE_EACH }, (_, nth) => {
    const person = at * PEOPLE_EACH + nth + 1
    return { jobId: `step-${person}`, functionName, parameters: { ...paramsFor(person) } }
  }),
)

const SEED: Seed = {
  tenants: [
    {
      domains: ['contoso.example'],
      groups: [{ id: NEWCOMERS, displayName: 'Newcomers' }],
      migrationEndpoints: [{ name: 'fabrikam', remoteTenant: 'fabrikam.example' }],
      migrationBatches: [{ ...UNDER_WAY, name: WAVE, mailboxMoves: [] }],
      users: [
        {
          userPrincipalName: 'post@contoso.example',
          mail: 'post@contoso.example',
          proxyAddresses: ['SMTP:post@contoso.example'],
          recipient: { kind: 'mailbox' },
        },
        ...JOBS.map((_, at) => ({
          id: id(at + 1),
          userPrincipalName: upn(at + 1),
          mail: foreign(at + 1),
          proxyAddresses: [`SMTP:${foreign(at + 1)}`],
          recipient: { kind: 'mailUser' as const, externalEmailAddress: foreign(at + 1) },
        })),
      ],
    },
  ],
}

const messageOf = (job: (typeof JOBS)[number]): OutgoingMessage => ({
  topic: 'worker-jobs',
  messageId: job.jobId,
  type: 'worker-job',
  workerId: WORKER_ID,
  body: {
    ...job,
    batchId: 1,
    workerId: WORKER_ID,
    timeoutSec: 3_600,
    notAfter: '2100-01-01T00:00:00.000Z',
    correlationData: {
      stepExecutionId: 1,
      isInitStep: false,
      runbookName: 'r',
      runbookVersion: 1,
    },
  },
})

/** A worker that is restarted whenever it is killed. */
class Mortal {
  #child: ChildProcess
  #isOver = false
  kills = 0
  readonly #part: Part

  constructor(part: Part) {
    this.#part = part
    this.#child = this.#start()
  }

  #start(): ChildProcess {
    const child = fork(new URL('./worker-process.ts', import.meta.url), [
      JSON.stringify(this.#part),
    ])
    child.once('exit', () => {
      if (!this.#isOver) this.#child = this.#start()
    })
    return child
  }

  kill(): void {
    this.kills += 1
    this.#child.kill('SIGKILL')
  }

  end(): void {
    this.#isOver = true
    this.#child.kill('SIGKILL')
  }
}

/** Kills before the response leaves the sandbox, once per kind of effect. */
function killAtEffects({ journal }: Sandbox, worker: Mortal): void {
  const add = journal.addEffect.bind(journal)
  const seen = new Map<string, number>()
  journal.addEffect = (effect) => {
    add(effect)
    const count = (seen.get(effect.what) ?? 0) + 1
    seen.set(effect.what, count)
    if (count === (effect.what === OF_MANY ? 1 : KILLED_AT)) worker.kill()
  }
}

/** Creations that never arrive: the passwords are in the vault, and nothing else. */
const NEVER_ARRIVE = ['POST /v1.0/users', 'New-MailUser']

function killBeforeCreations({ journal, setFaults }: Sandbox, worker: Mortal): void {
  setFaults({ script: NEVER_ARRIVE.map((on) => ({ on, nth: 2, fault: 'drop-before' })) })
  const add = journal.addRequest.bind(journal)
  journal.addRequest = (request) => {
    add(request)
    if (request.fault === 'drop-before') worker.kill()
  }
}

/** Jobs under way at each of the 14 kills would be delivered too often: on a busy machine one was. So a half meets seven. */
const FIRST_HALF = 5 * PEOPLE_EACH

type Results = Map<string, Message<'worker-result'>>

async function collectResults(bus: Bus, results: Results, count: number): Promise<void> {
  const clock = realClock()
  while (results.size < count) {
    const received = await bus.receive(WORKER_RESULTS, 100)
    for (const { type, body } of received) {
      const read = readMessage(type ?? 'worker-result', body)
      if (read.ok && read.message.messageType === 'worker-result')
        results.set(read.message.jobId, read.message)
    }
    if (received.length > 0) await bus.ack(received)
    else await clock.wait(50)
    const { items } = await bus.deadLetters.list(workerJobs(WORKER_ID), 1)
    assert.deepEqual(items, [], 'every job gets an answer')
  }
}

describe('a worker that is killed in the middle of its jobs', () => {
  it('leaves every effect exactly once', async () => {
    const test = await openTestPostgres()
    const clock = realClock()
    const vaultFolder = mkdtempSync(join(tmpdir(), 'matoolkit-vault-'))
    const timing = { replicationLagSec: 0, exchangeLagSec: 0, mailboxMoveStopSec: 0 }
    const sandbox = await openSandbox({ clock, seed: SEED, timing })
    const bus = openPostgresBus({ db: test.db, clock, newToken: randomUUID, leaseMs: LEASE_MS })
    const worker = new Mortal({
      databaseUrl: test.url!,
      sandboxUrl: sandbox.url,
      tenantId: sandbox.state().tenants[0]!.id,
      workerId: WORKER_ID,
      vaultFolder,
      leaseMs: LEASE_MS,
      slots: SLOTS,
    })
    try {
      killAtEffects(sandbox, worker)
      killBeforeCreations(sandbox, worker)
      const results: Results = new Map()
      await bus.publish(JOBS.slice(0, FIRST_HALF).map(messageOf))
      await collectResults(bus, results, FIRST_HALF)
      await bus.publish(JOBS.slice(FIRST_HALF).map(messageOf))
      await collectResults(bus, results, JOBS.length)
      requireOnce(sandbox)
      requireAnswers(results)
      const { migrationBatches } = sandbox.state().tenants[0]!
      const wave = migrationBatches.find(({ name }) => name === WAVE)!.mailboxMoves
      assert.equal(wave.length, PEOPLE_EACH, 'everybody of the joint call, once')
      // A mail under way at a kill is not sent again, so four may not go out.
      const mails = sandbox.journal.effects.filter(({ what }) => what === 'mail sent').length
      const kinds = Object.keys(DEEDS).length - (mails < KILLED_AT ? 1 : 0)
      assert.equal(worker.kills, kinds + NEVER_ARRIVE.length)
    } finally {
      worker.end()
      await bus.close()
      await sandbox.close()
      await test.close()
      rmSync(vaultFolder, { recursive: true })
    }
  })
})

/** Only revoking sessions may happen twice. */
const MAY_REPEAT = 'sessions revoked'

function requireOnce(sandbox: Sandbox): void {
  const effects = sandbox.journal.effects.filter(({ clientId }) => clientId !== null)
  const seen = Map.groupBy(effects, ({ what, id: on, details }) =>
    JSON.stringify([what, on, details]),
  )
  const repeated = [...seen].filter(([, times]) => times.length > 1).map(([effect]) => effect)
  assert.deepEqual(
    repeated.filter((effect) => !effect.includes(MAY_REPEAT)),
    [],
  )
}

/** All succeed; only a mail may have an unknown outcome. */
function requireAnswers(results: ReadonlyMap<string, Message<'worker-result'>>): void {
  for (const { jobId, functionName } of JOBS) {
    const { status, error } = results.get(jobId)!
    const type = error && 'type' in error ? error.type : null
    const isUnknown = functionName === 'Send-Notification' && type === 'OutcomeUnknown'
    if (!isUnknown) assert.equal(status, 'Success', `${jobId} ${functionName}: ${error?.message}`)
  }
}
