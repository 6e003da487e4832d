// What people learn and somebody keeps true has a cap. Lower it when something leaves; who raises it says why in the commit.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { describedRoutes } from '../../src/api/routes.ts'
import { SETTINGS } from '../../src/base/settings/config.ts'
import { migrationsOnDisk } from '../../src/db/schema/migration-files.ts'

const root = join(import.meta.dirname, '../..')

function linesIn(folder: string): number {
  const files = globSync(`${folder}/**/*.ts`, { cwd: root })
  assert.ok(files.length > 0)
  const texts = files.map((file) => readFileSync(join(root, file), 'utf8'))
  return texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0)
}

// Loaded when it is asked for: it awaits while it is loaded, and files share a process.
const commands = async () => (await import('../cli/every-command.ts')).COMMANDS.length

const tables = () =>
  migrationsOnDisk().flatMap(({ sql }) => [...sql.matchAll(/^create (?:unlogged )?table /gm)])

/** The count today, and its cap. */
const BUDGET: Readonly<
  Record<string, readonly [count: () => number | Promise<number>, cap: number]>
> = {
  commands: [commands, 90],
  endpoints: [() => describedRoutes().length, 105],
  settings: [() => Object.keys(SETTINGS).length, 92],
  tables: [() => tables().length, 34],
  'lines of src': [() => linesIn('src'), 108_450],
  'lines of sandbox': [() => linesIn('sandbox'), 8_650],
}

/** Words that a document may have. A page has one reader, answers their questions, and stops. */
const WORDS: Readonly<Record<string, number>> = {
  'ARCHITECTURE.md': 1_900,
  'CHANGELOG.md': 300,
  'CONTRIBUTING.md': 3_250,
  'README.md': 800,
  'docs/api.md': 2_800,
  'docs/azure.md': 1_100,
  'docs/bus.md': 1_650,
  'docs/coming-from-the-earlier-system.md': 2_900,
  'docs/custom-functions.md': 1_450,
  'docs/cut-over-night.md': 3_300,
  'docs/dashboard.md': 1_350,
  'docs/decisions.md': 2_400,
  'docs/engine.md': 950,
  'docs/first-pilot.md': 720,
  'docs/install.md': 2_300,
  'docs/messages.md': 1_300,
  'docs/notifications.md': 1_400,
  'docs/operating.md': 3_400,
  'docs/performance.md': 800,
  'docs/proofs.md': 750,
  'docs/rehearsal.md': 1_350,
  'docs/reliability.md': 1_550,
  'docs/runbook.md': 5_350,
  'docs/security.md': 2_300,
  'docs/tutorial.md': 550,
  'docs/waves.md': 2_050,
  'docs/reference/commands.md': 2_250,
  'docs/reference/errors.md': 1_950,
  'docs/reference/functions.md': 5_400,
  'docs/reference/microsoft-errors.md': 2_950,
  'docs/reference/settings.md': 1_950,
  'docs/reference/transitions.md': 1_050,
  'infra/README.md': 50,
}
const ALL_WORDS = 60_000

/** Documents for people: not those of a test or a benchmark. */
const documents = globSync(['*.md', 'docs/**/*.md', 'infra/**/*.md', 'examples/**/*.md'], {
  cwd: root,
}).toSorted()
const wordsIn = (file: string): number =>
  readFileSync(join(root, file), 'utf8').split(/\s+/).filter(Boolean).length

describe('the words', () => {
  it('of every document have a budget', () => {
    assert.deepEqual(documents, Object.keys(WORDS).toSorted())
  })

  for (const file of documents)
    it(`of ${file} are at most ${WORDS[file]}`, () => {
      const words = wordsIn(file)
      assert.ok(words <= WORDS[file]!, `${words} words: say it once, or let something else go`)
    })

  it(`of all documents are at most ${ALL_WORDS}`, () => {
    const words = documents.reduce((sum, file) => sum + wordsIn(file), 0)
    assert.ok(words <= ALL_WORDS, `${words} words: let something go`)
  })
})

describe('the budget', () => {
  for (const [what, [count, cap]] of Object.entries(BUDGET))
    it(`${what} are at most ${cap}`, async () => {
      const found = await count()
      assert.ok(found <= cap, `${found} ${what}, and the cap is ${cap}: let something else go`)
    })
})
