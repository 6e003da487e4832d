// Custom functions: discovery, the contract, and isolation of broken modules.
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import makeBadges from '../../../examples/custom-functions/badge.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { type M365Tenant, NO_M365_TENANT } from '../../../src/m365/client/tenant.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { catalogueOf, factsIn } from '../../../src/worker/functions/catalogue.ts'
import { discoverFunctions } from '../../../src/worker/functions/custom-functions.ts'
import { withCustom } from '../../../src/worker/functions/function-names.ts'
import type { RestRequest } from '../../../src/worker/http/api.ts'

const root = join(import.meta.dirname, '../../..')
const clock = virtualClock(new Date('2026-03-01T10:00:00Z'))
const standard = STANDARD_FUNCTIONS

const good = (name: string) => `export default ({ defineFunction, z }) => defineFunction({
  name: '${name}', description: 'x', parameters: z.strictObject({ A: z.string() }),
  result: z.boolean(), permissions: {}, isIdempotent: true, undo: null, run: async () => true,
})`

describe('custom functions', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'functions-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  const discover = async (files: Record<string, string>, at = folder) => {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    const { functions, problems } = await discoverFunctions({
      folder: at,
      standard,
      clock,
      powerShell: { program: 'pwsh', cloud: 'public' },
    })
    return { names: functions.map(({ name }) => name), problems, functions }
  }

  it('are loaded from modules only', async () => {
    const { names, problems } = await discover({
      'b.ts': good('Do-B'),
      'a.mjs': good('Do-A'),
      'a.test.ts': 'throw 1',
      'a.d.ts': 'throw 1',
      '.hidden.ts': 'throw 1',
      'README.md': 'x',
    })
    assert.deepEqual([names, problems], [['Do-A', 'Do-B'], []])
  })

  const BROKEN: [what: string, text: string, says: RegExp][] = [
    ['throws on import', "throw new Error('no luck\\nhere')", /cannot be loaded: no luck\.$/],
    ['throws something unreadable', 'throw Object.create(null)', /cannot be loaded/],
    ['is not code', 'export const = 5', /cannot be loaded/],
    ['imports a missing package', "import 'nowhere-to-be-found'", /cannot be loaded: .*nowhere/],
    ['exports nothing', 'export {}', /its default export is not a function/],
    ['is CommonJS', 'module.exports = 5', /its default export is not a function/],
    ['throws when called', 'export default () => { throw 5 }', /cannot be loaded: 5/],
    [
      'returns nothing',
      'export default () => {}',
      /export 1 is not a function definition: .*defineFunction/,
    ],
    [
      'returns junk',
      'export default () => [5]',
      /export 1 is not a function definition: .*defineFunction/,
    ],
    [
      'returns half a definition',
      "export default () => ({ name: 'Do-X' })",
      /it has no description/,
    ],
    [
      'throws on property access',
      "export default () => ({ get name() { throw new Error('boo') } })",
      /export 1 is not a function definition: .*boo/,
    ],
    [
      'acts on many without being idempotent',
      good('Do-X').replace('isIdempotent: true', 'isIdempotent: false, together: {}'),
      /together needs isIdempotent/,
    ],
    [
      'acts on many without saying how',
      good('Do-X').replace('undo:', 'together: { limit: 9 }, undo:'),
      /together needs key and run/,
    ],
    [
      'declares an effect that does not exist',
      good('Do-X').replace('undo:', 'effect: "read", undo:'),
      /effect: Invalid option: expected one of "reads"\|"tells"\|"changes"/,
    ],
    [
      'only reads and says what takes it back',
      good('Do-X').replace('undo:', 'effect: "reads", undoneBy: ["Undo-X"], undo:'),
      /its effect is "reads", and it says what becomes of a change/,
    ],
    [
      'acts on too many',
      good('Do-X').replace(
        'undo:',
        'together: { key: () => "", run: () => [], limit: 1e6, waitMs: 1 }, undo:',
      ),
      /together\.limit is no whole number from 2 to 10000/,
    ],
    [
      'overrides with something else than true',
      good('Do-X').replace('undo:', "overrides: 'yes', undo:"),
      /overrides may only be true/,
    ],
    [
      'has parameters that are not a schema',
      good('Do-X').replace(/z\.strictObject.*\}\)/, '{}'),
      /not a schema/,
    ],
  ]
  for (const [what, text, says] of BROKEN) {
    it(`reports a module that ${what} and reads the others`, async () => {
      const { names, problems } = await discover({ 'a.ts': text, 'b.ts': good('Do-B') })
      assert.deepEqual(names, ['Do-B'])
      assert.equal(problems.length, 1, problems.join('\n'))
      assert.match(problems[0]!, says)
      assert.match(problems[0]!, /^a\.ts: /)
    })
  }

  const overriding = (name: string) => good(name).replace('undo:', 'overrides: true, undo:')
  const NAMES: [what: string, texts: string[], says: RegExp][] = [
    [
      'has the name of a built-in function',
      [good('remove-ENTRAUSER')],
      /^1\.ts: there is a built-in function "remove-ENTRAUSER"\. Rename yours, or write "overrides: true"/,
    ],
    [
      'has the name of another custom function',
      [good('Do-B'), good('DO-b')],
      /^2\.ts: another custom function is already named "DO-b"\. Rename one of them/,
    ],
    [
      'overrides what another one overrides',
      [overriding('Remove-EntraUser'), overriding('Remove-EntraUser')],
      /^2\.ts: another custom function is already named "Remove-EntraUser"/,
    ],
    [
      'overrides nothing',
      [overriding('Remove-EntaUser')],
      /^1\.ts: "Remove-EntaUser" says "overrides: true", and no built-in .* Did you mean "Remove-EntraUser"\?$/,
    ],
  ]
  for (const [what, texts, says] of NAMES) {
    it(`report one that ${what}`, async () => {
      const files = texts.map((text, at) => [`${at + 1}.ts`, text] as const)
      const { problems } = await discover(Object.fromEntries(files))
      assert.equal(problems.length, 1, problems.join('\n'))
      assert.match(problems[0]!, says)
    })
  }

  it('run instead of the built-in one where they say so, and no other does', async () => {
    const { functions, problems } = await discover({
      'own.ts': overriding('remove-entrauser').replace('=> true', '=> "only disabled"'),
    })
    assert.deepEqual(problems, [])
    const all = catalogueOf(withCustom(standard, functions))
    assert.equal(all.size, standard.length)
    const found = all.get('remove-entrauser')!
    const call = { params: { A: '' }, tenant: NO_M365_TENANT, clock, jobId: 'step-1' }
    const signal = new AbortController().signal
    assert.equal(await found.run({ ...call, signal }), 'only disabled')
    assert.deepEqual(factsIn(found), {
      effect: 'changes',
      isIdempotent: true,
      undoneBy: [],
      returns: [],
      isCustom: true,
      overrides: true,
    })
  })

  it('need a folder with something in it: a volume that is not mounted looks empty', async () => {
    assert.match((await discover({})).problems[0]!, /holds no function\. Mount it/)
  })

  it('skips a module that never finishes loading', async () => {
    const running = discover({ 'a.mjs': 'await new Promise(() => {})', 'b.ts': good('Do-B') })
    while (clock.nextWakeAt() === null) await new Promise<void>((done) => setImmediate(done))
    await clock.advance(30_000)
    const { names, problems } = await running
    assert.deepEqual(names, ['Do-B'])
    assert.match(problems[0]!, /did not load within 30 s/)
  })

  it('reports a folder that cannot be read', async () => {
    const { problems } = await discover({}, join(folder, 'none'))
    assert.match(problems[0]!, /Cannot read the folder/)
  })

  it('accepts the function shown in the documentation', async () => {
    const text = await readFile(join(root, 'docs/custom-functions.md'), 'utf8')
    const [, code] = text.match(/```ts\n([\s\S]*?)```/)!
    assert.deepEqual((await discover({ 'office.ts': code! })).names, ['Set-Office'])
  })

  it('accepts and runs the template in examples', async () => {
    const at = join(root, 'examples/custom-functions')
    assert.equal(typeof makeBadges, 'function')
    const { names, problems, functions } = await discover({}, at)
    assert.deepEqual([names, problems], [['Set-BadgeNumber', 'Test-BadgePrinted'], []])
    const asked: string[] = []
    const graph = {
      ...NO_M365_TENANT.graph,
      call: async ({ method, path, body }: RestRequest) => {
        asked.push(`${method} ${path} ${JSON.stringify(body ?? null)}`)
        return { status: 200, headers: new Headers(), body: {} }
      },
    }
    const tenant: M365Tenant = Object.create(NO_M365_TENANT, { graph: { value: graph } })
    const call = { tenant, clock, jobId: 'step-1', signal: new AbortController().signal }
    const [set, test] = functions
    const params = set!.parameters.parse({ UserId: 'kim@contoso.com', Number: 7 })
    assert.equal(await set!.run({ ...call, params }), true)
    assert.deepEqual(await test!.run({ ...call, params }), {
      complete: false,
      data: { PrintedAt: '' },
    })
    assert.deepEqual(asked, [
      'PATCH /users/kim%40contoso.com {"onPremisesExtensionAttributes":{"extensionAttribute7":"7"}}',
      'GET /users/kim%40contoso.com null',
    ])
  })
})
