// What a custom function says of itself counts as much as what a built-in one does, from its file to the change window, the gate, the
// plan, lint and the undo: the worker announces it, and nothing asks for a name.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { listCatalogues } from '../../src/db/state/workers.ts'
import { noReturnSteps } from '../../src/domain/runbook/function-facts.ts'
import { readRunbook } from '../../src/domain/runbook/read.ts'
import { readGates } from '../../src/engine/orders/gates.ts'
import { catalogueOf } from '../../src/worker/functions/catalogue.ts'
import { discoverFunctions } from '../../src/worker/functions/custom-functions.ts'
import { Announcement } from '../../src/worker/jobs/announcement.ts'
import { runbook } from './looking.ts'
import { story, type World } from './world.ts'

const MODULE = `export default ({ defineFunction, z }) => {
  const define = (name, facts) => defineFunction({
    name, description: name, parameters: z.strictObject({ Name: z.string() }), result: z.looseObject({}),
    permissions: {}, isIdempotent: true, undo: null, run: async () => ({}), ...facts,
  })
  return [
    define('Count-Desks', { effect: 'reads', countsSupply: {
      noun: 'desk places', list: 'Places', id: 'Id', name: 'Name', free: 'Free', isHeld: 'IsHeld' } }),
    define('Take-Desk', { effect: 'changes', subject: 'desks', undoneBy: ['Leave-Desk'],
      comesAfter: { functions: ['Count-Desks'], because: 'nobody counted. Move it behind that step.' } }),
    define('Burn-Desk', { effect: 'changes', subject: 'desks', isIrreversible: true }),
    define('Undeclared', {}),
  ]
}`

const named = (name: string, fn: string) =>
  `{ name: ${name}, worker_id: w1, function: ${fn}, params: { Name: "{{UserPrincipalName}}" } }`
const [COUNT, TAKE, BURN, OTHER] = [
  named('count', 'Count-Desks'),
  named('take', 'Take-Desk'),
  named('burn', 'Burn-Desk'),
  named('other', 'Undeclared'),
]
const CLOSED = 'windows: { time_zone: UTC, hours: [{ from: "20:00", to: "22:00" }] }'

async function announce({ bus, clock, settle }: World): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'desks-'))
  try {
    await writeFile(join(folder, 'desks.mjs'), MODULE)
    const powerShell = { program: 'pwsh', cloud: 'public' as const }
    const found = await discoverFunctions({ folder, standard: [], clock, powerShell })
    assert.deepEqual(found.problems, [])
    const worker = { workerId: 'w1', version: '1', bus, maxParallelism: 1000 }
    await new Announcement(worker, catalogueOf(found.functions), () => 1000).send(clock.now())
    await settle()
  } finally {
    await rm(folder, { recursive: true })
  }
}

it('a custom function that reads runs outside the change window, and its count is asked at the gate', () =>
  story({ packaged: [] }, async (world) => {
    await announce(world)
    world.answer = () => ({
      ok: { Places: [{ Id: 'd', Name: 'ground floor', Free: 1, IsHeld: false }] },
    })
    const phases = {
      'prepare T-2h': [COUNT, OTHER],
      'cutover T-0 gate: { approvals: 1 }': [TAKE],
    }
    await world.publish(runbook('wave', phases, CLOSED))
    const batchId = await world.batch('wave', 2, { startsInMin: 121 })
    await world.pass(120)
    const sent = world.jobs.map(({ functionName }) => functionName)
    assert.deepEqual(sent, ['Count-Desks', 'Count-Desks'], 'what declares nothing waits')
    const { gates } = await readGates(world.engine, batchId)
    assert.deepEqual(
      gates.flatMap(({ missing }) => missing.filter((text) => text.startsWith('desk places'))),
      ['desk places ground floor: 1 free, 2 needed'],
    )
  }))

it('lint and plan read what a custom function declares', () =>
  story({ packaged: [] }, async (world) => {
    await announce(world)
    const catalogues = await listCatalogues(world.db)
    const lint = (steps: string[]) =>
      readRunbook(runbook('wave', { 'prepare T-2h': steps }), { catalogues, isLinted: true })
    const codes = (steps: string[]) => lint(steps).problems.map(({ code }) => code)
    assert.ok(codes([TAKE, COUNT]).includes('RUNS_TOO_EARLY'))
    assert.ok(!codes([COUNT, TAKE]).includes('RUNS_TOO_EARLY'))
    assert.ok(codes([COUNT, BURN]).includes('IRREVERSIBLE_WITHOUT_HOLD'))
    const factsOf = await world.engine.functions.factsOf(world.db, world.clock.now())
    const { steps } = lint([COUNT, TAKE, BURN]).runbook!.phases[0]!
    assert.deepEqual(noReturnSteps(steps, factsOf), ['burn'])
  }))
