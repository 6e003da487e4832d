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
  commands: [commands, 96],
  endpoints: [() => describedRoutes().length, 106],
  settings: [() => Object.keys(SETTINGS).length, 92],
  tables: [() => tables().length, 35],
  'lines of src': [() => linesIn('src'), 107_500],
  'lines of sandbox': [() => linesIn('sandbox'), 8_600],
}

describe('the budget', () => {
  for (const [what, [count, cap]] of Object.entries(BUDGET))
    it(`${what} are at most ${cap}`, async () => {
      const found = await count()
      assert.ok(found <= cap, `${found} ${what}, and the cap is ${cap}: let something else go`)
    })
})
