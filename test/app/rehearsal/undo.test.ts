// The proof of the undo ledger: the example migration runs in the rehearsal's world up to its cut-over, the batch is undone, and the
// tenants are as they were, object by object, except for what the ledger says stays.

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parse } from 'csv-parse/sync'
import { CallMeter } from '../../../src/app/rehearsal/call-meter.ts'
import { expectedTenants } from '../../../src/app/rehearsal/expected-tenants.ts'
import { runRehearsal } from '../../../src/app/rehearsal/run.ts'
import { openRehearsalTenants, type RehearsalTenants } from '../../../src/app/rehearsal/tenants.ts'
import { WholeProgram } from '../../../src/app/rehearsal/whole-program.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { readMemberLedger, undoMembers } from '../../../src/engine/orders/undo.ts'
import { M365_CATALOGUE } from '../../../src/m365/catalogue.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { openTestPglite } from '../../kit/databases.ts'
import { tenantsOf } from '../../m365/functions/tenants-alike.ts'
import { example, firstRows } from './rehearsing.ts'

const PEOPLE = 3
const WORKERS = ['contoso-worker', 'fabrikam-worker']

async function opened(yaml: string, csv: string, db: Db) {
  const { runbook } = readRunbook(yaml, { catalogues: [M365_CATALOGUE], isLinted: false })
  const [columns = [], ...cells] = parse(csv, { trim: true }) as string[][]
  const rows = cells.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at]!])))
  let tenants: RehearsalTenants | undefined
  const system = await WholeProgram.open({
    yaml,
    columns,
    rows,
    past: null,
    windows: null,
    notifications: null,
    slotsOf: () => 8,
    openDatabase: async () => db,
    runbook: runbook!,
    startAt: new Date('2030-02-15T19:00:00Z'),
    functions: STANDARD_FUNCTIONS,
    tenants: (clock) => {
      tenants = openRehearsalTenants({
        clock,
        seed: expectedTenants(runbook!, rows),
        seedNumber: 1,
        workerIds: WORKERS,
        webhookHosts: [],
        meter: new CallMeter(),
      })
      return tenants.byWorker
    },
  })
  return { system, tenants: tenants! }
}

/** The example without what follows the point of no return. */
const upToCutOver = (yaml: string): string =>
  yaml.slice(0, yaml.indexOf('  - name: cutover')) +
  yaml.slice(yaml.indexOf('\non_member_removed:'))

interface Tenant {
  readonly migrationBatches?: readonly { readonly mailboxMoves?: readonly object[] }[]
}

/** A migration batch stays when it is empty; the ledger says so. */
function withoutEmptyBatches(tenants: unknown): unknown {
  return (tenants as Tenant[]).map(({ migrationBatches = [], ...others }) => ({
    ...others,
    moves: migrationBatches.flatMap(({ mailboxMoves = [] }) => mailboxMoves),
  }))
}

it('a wave that is undone before its cut-over leaves both tenants as they were, through a crash', async () => {
  const test = await openTestPglite()
  try {
    const yaml = upToCutOver(example('full-migration.yaml'))
    const { system, tenants } = await opened(
      yaml,
      firstRows(example('full-migration.csv'), PEOPLE),
      test.db,
    )
    const { engine, db } = system
    const before = withoutEmptyBatches(tenantsOf(tenants.state()))
    const run = (events: Parameters<typeof runRehearsal>[1]['events'] = []) =>
      runRehearsal(system, { events, beforePhase: () => {} })
    assert.equal((await run()).stuckBecause, null)
    assert.notDeepEqual(withoutEmptyBatches(tenantsOf(tenants.state())), before)
    const people = await db.query<{ id: number; batchId: number; status: string }>(
      'select id, batch_id, status from batch_members order by id',
    )
    assert.deepEqual(
      people.map(({ status }) => status),
      ['active', 'active', 'active'],
      'everybody was prepared',
    )
    const { batchId } = people[0]!
    const memberIds = people.map(({ id }) => id)
    const order = { batchId, actor: 'operator', reason: 'the wave is off', isWholeBatch: true }
    assert.deepEqual((await undoMembers(engine, { ...order, memberIds })).refused, [])
    // The worker dies in the middle and comes back.
    const at = new Date(+system.clock.now() + 3_000)
    const back = new Date(+at + 120_000)
    const crash = { at, what: null, run: () => system.killWorker('contoso-worker') }
    const start = { at: back, what: null, run: () => system.startWorker('contoso-worker') }
    assert.equal((await run([crash, start])).stuckBecause, null)
    for (const id of memberIds) {
      const ledger = await readMemberLedger(engine, batchId, id)
      const left = ledger.filter(({ state }) => state !== 'undone')
      assert.deepEqual(
        left.map(({ step, state }) => `${step} ${state}`),
        ['verify/tell-the-person irreversible', 'pre-stage/prepare-target goes_with'],
      )
    }
    assert.deepEqual(withoutEmptyBatches(tenantsOf(tenants.state())), before)
    const again = await undoMembers(engine, { ...order, memberIds })
    assert.deepEqual(again.done, [])
    await system.close()
  } finally {
    await test.close()
  }
})
