// Style and architecture as tests. The rules are in tidy/; here they are run on the project, and each is shown to see what it
// is for by a planted mistake.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { SETTINGS } from '../../src/base/settings/config.ts'
import { CLIENTS } from './tidy/clients.ts'
import { DOCUMENTS } from './tidy/documents.ts'
import { NAMES, uniqueNames } from './tidy/names.ts'
import { SETTINGS_RULES, settingKeys } from './tidy/settings.ts'
import { importsOf, projectFiles, type SourceFile, scan } from './tidy/source.ts'
import { functionBodies, STYLE } from './tidy/style.ts'
import { idleHosts, ROOMS, type Rule, WALLS } from './tidy/walls.ts'
import { WORDS } from './tidy/words.ts'

const root = join(import.meta.dirname, '../..')
const RULES: readonly Rule[] = [
  ...WALLS,
  ...CLIENTS,
  ...SETTINGS_RULES,
  ...STYLE,
  ...NAMES,
  ...WORDS,
  ...DOCUMENTS,
]

describe('the house is tidy', () => {
  const files = projectFiles(root)
  for (const rule of RULES) {
    it(rule.name, () => assert.deepEqual(rule.check(files), []))
  }

  it('every place that may name a vendor still does', () => {
    assert.deepEqual(idleHosts(files), [])
  })

  it('the rule for settings sees every one', () => {
    assert.deepEqual(settingKeys(files).sort(), Object.keys(SETTINGS).sort())
  })
})

const COMMENT = '// A file that says in its first line what it is for.\n'
/** Files with one mistake each, and what exactly one rule must say of them. */
const PLANTED: readonly [mistake: string, files: Record<string, string>, said: RegExp][] = [
  [
    'domain imports db',
    { 'src/domain/a.ts': "import { x } from '../db/x.ts'" },
    /a\.ts imports from db; domain may not/,
  ],
  [
    'domain imports more of the base than texts',
    { 'src/domain/decide/a.ts': "import { x } from '../../base/errors/errors.ts'" },
    /imports from base; domain/,
  ],
  [
    'a type import counts',
    { 'src/worker/a.ts': "import type { Db } from '../db/connection/db.ts'" },
    /imports from db; worker/,
  ],
  [
    'the dashboard runs code of the server',
    { 'dashboard/src/a.ts': "import { x } from '../../src/api/api.ts'" },
    /takes more than types from src\/api\/api\.ts/,
  ],
  [
    'the client needs Node',
    { 'src/api/client/a.ts': "import { randomUUID } from 'node:crypto'" },
    /a\.ts takes more than types from node:crypto/,
  ],
  [
    'a command sends a request by hand',
    { 'src/cli/commands/a.ts': "const found = await fetch('http://x')" },
    /a\.ts:1 sends a request by itself/,
  ],
  [
    'a command gives an answer a type of its own',
    { 'src/cli/commands/a.ts': 'const { id } = (await load()) as unknown as Batch' },
    /a\.ts:1 says "as unknown as"/,
  ],
  [
    'a sentence builds a command by hand',
    { 'src/domain/a.ts': 'const next = `matoolkit batch get ${id}`' },
    /a\.ts:1 builds a command by hand/,
  ],
  [
    'a dynamic import counts',
    { 'src/cli/a.ts': "await import('../api/server.ts')" },
    /imports from api; cli/,
  ],
  [
    'a role imports a role',
    { 'src/scheduler/a.ts': "import { x } from '../orchestrator/b.ts'" },
    /from orchestrator/,
  ],
  [
    'a command imports a role',
    { 'src/cli/commands/batch.ts': "import { x } from '../../engine/b.ts'" },
    /imports from engine; cli/,
  ],
  [
    'the sandbox leans on the program',
    { 'sandbox/a.ts': "import { x } from '../src/base/text/json.ts'" },
    /imports from base; sandbox/,
  ],
  [
    'the worker knows a vendor',
    { 'src/worker/jobs/a.ts': "import { x } from '../../m365/client/graph.ts'" },
    /imports from m365; worker/,
  ],
  [
    'the API knows a vendor',
    { 'src/api/routes/a.ts': "import { x } from '../../m365/meanings/graph.ts'" },
    /imports from m365; api/,
  ],
  [
    'the worker knows a service of a vendor',
    { 'src/worker/powershell/a.ts': "const service = z.enum(['graph'])" },
    /names graph: it belongs to a package/,
  ],
  [
    'the engine decides by the name of a function',
    { 'src/engine/a.ts': "if (step.function === 'Get-EntraLicenseCount') gate()" },
    /a\.ts names Get-EntraLicenseCount|a\.ts names EntraLicenseCount/,
  ],
  [
    'a command names a function that has no service in its name',
    { 'src/cli/commands/a.ts': "const steps = ['Remove-UserDomain']" },
    /a\.ts names Remove-UserDomain/,
  ],
  [
    'a pure text leans on its floor',
    { 'src/base/text/a.ts': "import { x } from '../errors/errors.ts'" },
    /imports from base; base\/text/,
  ],
  [
    'the worker looks behind the contract of the bus',
    { 'src/worker/a.ts': "import { x } from '../bus/outbox.ts'" },
    /a\.ts imports src\/bus\/outbox\.ts; the contract/,
  ],
  [
    'a crowded folder',
    Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`src/db/state/a${n}.ts`, ''])),
    /src\/db\/state has 31 files/,
  ],
  ['a loose file', { 'src/words.ts': '' }, /src\/words\.ts lies loose/],
  [
    'a table of rooms that says something else',
    { 'ARCHITECTURE.md': '## Rooms\n\n| room | holds | may import |\n| `db` | SQL | bus |\n' },
    /says that db may import "bus", ROOMS says "base, domain"/,
  ],
  [
    'an answer without a limit',
    { 'src/engine/a.ts': 'const said = await response.text()' },
    /a\.ts reads an answer without a limit/,
  ],
  [
    'main is imported',
    { 'src/engine/a.ts': "import { x } from '../main.ts'" },
    /imports from main/,
  ],
  [
    'src imports test',
    { 'src/db/a.ts': "import { x } from '../../test/databases.ts'" },
    /imports from test/,
  ],
  ['a room nobody knows', { 'src/stuff/a.ts': '' }, /"stuff", which is no room/],
  [
    'domain does I/O',
    { 'src/domain/a.ts': "import { readFileSync } from 'node:fs'" },
    /imports node:fs, which does more/,
  ],
  [
    'worker reaches db by way of bus',
    {
      'src/worker/a.ts': "import { x } from '../bus/bus.ts'",
      'src/bus/bus.ts': "import { y } from '../db/c.ts'",
      'src/db/c.ts': '',
    },
    /src\/worker\/a\.ts reaches src\/db\/c\.ts/,
  ],
  [
    'a cycle',
    { 'src/db/a.ts': "import { b } from './b.ts'", 'src/db/b.ts': "export * from './a.ts'" },
    /a\.ts imports itself/,
  ],
  [
    'a role imports a transport',
    { 'src/orchestrator/a.ts': "import { x } from '../bus/postgres/sweep.ts'" },
    /a\.ts imports the transport src\/bus\/postgres\/sweep\.ts/,
  ],
  [
    'the contract imports a transport',
    { 'src/bus/a.ts': "import type { X } from './postgres/queue.ts'" },
    /a\.ts imports the transport/,
  ],
  [
    'a transport imports another',
    { 'src/bus/servicebus/a.ts': "import { x } from '../postgres/queue.ts'" },
    /a\.ts imports the transport/,
  ],
  [
    'a view reads the queue',
    { 'src/db/views/a.ts': "query('select exists (select from bundles)')" },
    /a\.ts names bundles, a table of the bus/,
  ],
  [
    'the state writes dead letters',
    { 'src/db/a.ts': "query('update dead_letters set noticed_at = $1')" },
    /a\.ts names dead_letters/,
  ],
  [
    'a setting that nothing reads',
    {
      'src/base/settings/process.ts':
        "const SETTINGS = {\n  poolSize: setting('POOL', n),\n  lanes: setting<number>('LANES', n),\n}",
      'src/db/a.ts': 'open({ poolSize: config.poolSize, lanes: 4 })',
    },
    /no code reads the setting lanes/,
  ],
  ['the clock', { 'src/engine/a.ts': 'const t = Date.now()' }, /a\.ts:1 reads the clock/],
  [
    'the clock as a date',
    { 'src/api/a.ts': '\nconst t = `${new Date()}`' },
    /a\.ts:2 reads the clock/,
  ],
  ['the environment', { 'src/cli/a.ts': 'const { HOME } = process.env' }, /reads the environment/],
  ['chance', { 'src/domain/a.ts': 'const r = Math.random()' }, /makes chance of its own/],
  ['the console', { 'src/bus/a.ts': "console.log('x')" }, /writes to the console/],
  ['an interval', { 'src/worker/a.ts': 'setInterval(run, 5)' }, /instead of everyLoop/],
  [
    'a sleep in a test',
    { 'test/a.test.ts': 'await new Promise((r) => setTimeout(r, 5))' },
    /a\.test\.ts:1 sleeps/,
  ],
  [
    'now() in SQL',
    { 'src/db/a.ts': "query('select 1 where due_at < now()')" },
    /uses now\( in SQL/,
  ],
  [
    'a default in a migration',
    { 'sql/001_a.sql': 'created_at timestamptz default current_timestamp' },
    /current_timestamp in SQL/,
  ],
  [
    'SQL far from home',
    { 'src/api/a.ts': 'query(`select id\nfrom ${table} where x`)' },
    /a\.ts holds SQL: select id/,
  ],
  [
    'an update far from home',
    { 'src/engine/a.ts': "query('update batches set status = 1')" },
    /holds SQL: update/,
  ],
  [
    'a long file',
    { 'src/db/a.ts': `${COMMENT}${'let a\n'.repeat(401)}` },
    /a\.ts has 401 statements/,
  ],
  [
    'a long function',
    { 'src/db/a.ts': `function f(\n  a: string,\n): void {\n${'  a()\n'.repeat(70)}}\n` },
    /a\.ts:3 a function has 70 statements/,
  ],
  [
    'a long arrow',
    { 'test/a.ts': `const f = async () => {\n${'  a()\n'.repeat(69)}  if (b) {\n  }\n}\n` },
    /has 70 statements/,
  ],
  [
    'a literal spread into its neighbour',
    { 'src/db/a.ts': 'const a = {\n  b: 1,\n  ...{ c, d },\n}\n' },
    /a\.ts:3 spreads a literal/,
  ],
  [
    'a constant list spread into its neighbour',
    { 'src/db/a.ts': 'call(\n  ...([db, id, of(x)] as const),\n  b,\n)\n' },
    /a\.ts:2 spreads a literal/,
  ],
  [
    'a sentence that is taken apart',
    { 'src/cli/a.ts': "const a = 1\nconst last = person.where.split('; ').at(-1)\n" },
    /a\.ts:2 takes a sentence apart/,
  ],
  [
    'a word made from a kind',
    { 'dashboard/src/a.ts': 'countText(count, kind.slice(0, -1))\n' },
    /a\.ts:1 takes a sentence apart/,
  ],
  [
    'a name that is compared without sameName',
    { 'src/cli/a.ts': 'const a = 1\nif (a.name.toLowerCase() === b) c()\n' },
    /a\.ts:2 folds a name/,
  ],
  ['no opening comment', { 'src/db/a.ts': "import 'x'\n" }, /a\.ts does not open with/],
  [
    'an opening comment that says nothing',
    { 'sql/001_a.sql': '-- core\n' },
    /001_a\.sql does not open/,
  ],
  ['a drawer', { 'src/db/types.ts': '' }, /types\.ts is a drawer/],
  ['a folder of drawers', { 'src/api/shared/a.ts': '' }, /is a drawer/],
  ['a name that says nothing', { 'src/db/a.ts': 'class BatchManager {}' }, /the name BatchManager/],
  ['camel case in a file name', { 'src/db/batchRows.ts': '' }, /lower case with hyphens/],
  [
    'unfinished work',
    { 'docs/a.md': `\n${'TO'}${'DO'}: later` },
    /docs\/a\.md:2 holds unfinished work/,
  ],
  ['a machine path', { 'README.md': `see /${'home'}/someone/x` }, /holds a machine path/],
  ['a registry', { 'src/a.ts': `// https://registry.${'npm'}js.org/` }, /holds a registry/],
  ['a check turned off', { 'src/a.ts': `// @ts-${'ignore'}` }, /a type check turned off/],
  ['any', { 'src/a.ts': 'const a: any = 1' }, /checks nothing/],
  ['any in a cast', { 'src/a.ts': 'f(a as any)' }, /checks nothing/],
  ['a test unrun', { 'test/a.test.ts': "it.skip('x', () => {})" }, /has a test unrun/],
  [
    'a dead file',
    { 'src/db/a.ts': '', 'src/main.ts': '' },
    /src\/db\/a\.ts is imported by nothing/,
  ],
  [
    'one name for two things',
    { 'src/db/a.ts': 'export const count = 1', 'src/api/b.ts': 'export function count() {}' },
    /count is exported by src\/db\/a\.ts and src\/api\/b\.ts/,
  ],
  [
    'an export that nothing uses',
    {
      'src/db/a.ts': 'export const used = 1\nexport const unused = used',
      'src/db/b.ts': "import { used } from './a.ts'\n// unused\nused()",
    },
    /a\.ts exports unused, which nothing else uses/,
  ],
  ['a private word', { 'docs/a.md': 'Come in\nby the door' }, /a\.md:2 says "door": write/],
  [
    'a private word in a title',
    { 'test/a.test.ts': "it(\n  'opens a door', () => {})" },
    /test\/a\.test\.ts:2 says "door"/,
  ],
  [
    'a gap in the migrations',
    { 'sql/001_a.sql': '', 'sql/003_b.sql': '' },
    /003_b\.sql does not continue/,
  ],
  ['blanks at a line end', { 'docs/a.md': 'a \nb\n' }, /a\.md has untidy blanks/],
  ['no line end', { 'docs/a.md': 'a' }, /untidy blanks/],
  ['a link to nowhere', { 'docs/a.md': '[b](b.md)' }, /docs\/a\.md links to b\.md/],
  [
    'an anchor that is not there',
    { 'docs/a.md': '[b](b.md#two)', 'docs/b.md': '# One' },
    /b\.md#two/,
  ],
  ['a file that is not there', { 'README.md': 'see `src/gone.ts`' }, /names src\/gone\.ts/],
  ['the end of a path that is not there', { 'docs/a.md': 'in `b/gone.ts`' }, /names b\/gone\.ts/],
  [
    'a function that has moved',
    {
      'docs/a.md': 'starts with `two` or `one` (`src/db/a.ts`)',
      'src/db/a.ts': 'export function two() {}\none()',
    },
    /docs\/a\.md says that one is in src\/db\/a\.ts/,
  ],
  [
    'a walk past what is gone',
    { 'ARCHITECTURE.md': '## Walk 1: a\n\n1. Then `oldName` runs.\n' },
    /walks by oldName/,
  ],
  [
    'a document nobody finds',
    { 'docs/a.md': '', 'README.md': '' },
    /docs\/a\.md is linked from nowhere/,
  ],
  ['no way to start', { 'README.md': '```\nnpm test\n```' }, /does not show "npm start"/],
  [
    'a dependency without argument',
    { 'package.json': '{"dependencies": {"leftpad": "1.0.0"}}' },
    /leftpad is not argued for/,
  ],
  [
    'an argument for what is gone',
    { 'package.json': '{}', 'docs/decisions.md': '## Dependencies\n- `leftpad`: pads' },
    /leftpad is argued for but gone/,
  ],
  [
    'a dependency that is not used',
    {
      'package.json': '{"dependencies": {"leftpad": "1.0.0"}}',
      'docs/decisions.md': '## Dependencies\n- `leftpad`: pads',
    },
    /leftpad is imported by nothing in src/,
  ],
  [
    'an optional dependency that is not used',
    {
      'package.json': '{"optionalDependencies": {"leftpad": "1.0.0"}}',
      'docs/decisions.md': '## Dependencies\n- `leftpad`: pads',
      'test/a.ts': "import 'leftpad'",
    },
    /leftpad is imported by nothing in src/,
  ],
  [
    'a package for development that is not used',
    {
      'package.json': '{"devDependencies": {"leftpad": "1.0.0"}}',
      'docs/decisions.md': '## Dependencies\n- `leftpad`: pads',
      'test/a.ts': '// without leftpad',
    },
    /leftpad is imported by nothing$/,
  ],
  [
    'download addresses',
    { 'package-lock.json': '"resolved": "https://x"' },
    /holds download addresses/,
  ],
]

const ROOM_LINES = Object.entries(ROOMS)
  .map(([room, may]) => {
    const everything = Object.keys(ROOMS).length - 1
    const shown = may.length === 0 ? 'nothing' : may.length === everything ? 'all' : may.join(', ')
    return `| \`${room}\` | something | ${shown} |\n`
  })
  .join('')

describe('each rule sees what it is for', () => {
  const toFiles = (texts: Record<string, string>): SourceFile[] =>
    Object.entries(texts).map(([path, text]) => ({ path, text }))
  const seen = new Set<Rule>()

  for (const [mistake, texts, said] of PLANTED) {
    it(mistake, () => {
      const files = toFiles(texts)
      const saying = RULES.filter((rule) => rule.check(files).some((line) => said.test(line)))
      assert.equal(saying.length, 1, `said by: ${saying.map(({ name }) => name).join(', ')}`)
      seen.add(saying[0]!)
    })
  }

  it('and no rule is without a planted mistake', () => {
    const unseen = RULES.filter((rule) => !seen.has(rule)).map(({ name }) => name)
    assert.deepEqual(unseen, [])
  })

  it('and none complains about what is right', () => {
    const files = toFiles({
      'src/main.ts': `${COMMENT}import { f, g, h } from './db/state/rows.ts'\nimport './app/demo/demo.ts'\nimport './app/sandbox/sandbox.ts'\nimport 'pg'\nf(g, h)\n`,
      'src/app/demo/demo.ts': `${COMMENT}import { e } from '../../engine/transactions/engine.ts'\nimport '../../base/settings/config.ts'\nconst { a: x } = shared.config\nconst g = ({ b }: Config) => config.c\ne(g)\n`,
      'src/engine/transactions/engine.ts': `${COMMENT}export const e = () => 1\n`,
      'src/app/sandbox/sandbox.ts': `${COMMENT}import { j } from '../../../sandbox/sandbox.ts'\nimport '../roles/transports.ts'\nj('')\n`,
      'src/app/roles/transports.ts': `${COMMENT}import '../../bus/postgres/bus.ts'\n`,
      'src/bus/postgres/bus.ts': `${COMMENT}import type { Json } from '../../base/text/json.ts'\nimport { q } from './lease.ts'\nconst b = (): Json => q()\nb()\n`,
      'src/bus/postgres/lease.ts': `${COMMENT}export const q = () => 'delete from bundles where id = $1'\n`,
      'sandbox/sandbox.ts': `${COMMENT}import type { Json } from './json.ts'\nexport const j = (json: Json) => json\n`,
      'sandbox/json.ts': `${COMMENT}export type Json = string\n`,
      'src/base/settings/config.ts': `${COMMENT}const SETTINGS = {\n  a: setting('A', n),\n  b: setting('B', n),\n  c: setting('C', n),\n  configFile: setting('F', n),\n}\n`,
      'src/base/text/json.ts': `${COMMENT}export type Json = string\n`,
      'src/db/state/rows.ts': `${COMMENT}// Date.now() and process.env in a comment are only words.
import { posix } from 'node:path'
export const f = (clock: { now(): Date }) => \`\${clock.now()} \${new Date(5)} is not now\`
export const g = (many: string) => many.replace(/'select a from "b' now()/, "it's /* fine */")
export const h = 4 / 2 / 1 // 'and so on
const setUserManager = h // Whom does it name? Her manager.
`,
      'sql/001_core.sql':
        '-- The tables, from the ground up: -- now() is a word here.\ncreate table a (id int);\n',
      'README.md':
        '# A\n\n[here](#a) and [there](docs/b.md#the-one--two)\n\n```\nnpm start\nnpm test\n```\n',
      'docs/b.md': '# The one & two!\n\nSee `src/db/state/rows.ts` and `sql/`.\n',
      'docs/decisions.md':
        '# Decisions\n\nOf [b](b.md).\n\n## Dependencies\n\n- `pg`: speaks PostgreSQL\n',
      'ARCHITECTURE.md': `# A\n\n[Why](docs/decisions.md)\n\n## Rooms\n\n| room | holds | may import |\n${ROOM_LINES}`,
      'package.json': '{"dependencies": {"pg": "8.0.0"}}\n',
    })
    assert.deepEqual(
      RULES.flatMap((rule) => rule.check(files)),
      [],
    )
  })
})

describe('lists of exceptions stay true', () => {
  const files = [
    { path: 'src/a.ts', text: 'export const a = 1' },
    { path: 'src/b.ts', text: 'export const a = 1\nexport const b = 2' },
  ]

  it('a name that is listed as shared must be shared', () => {
    assert.deepEqual(uniqueNames({ a: 'the same' }).check(files), [])
    assert.deepEqual(uniqueNames({ a: 'the same', b: 'the same' }).check(files), [
      'b is in SHARED and no longer shared: remove it there',
    ])
  })
})

describe('the scanner', () => {
  const file = (text: string): SourceFile => ({ path: 'src/a.ts', text })

  it('tells code from comments, strings, templates and regular expressions', () => {
    const source = file(
      'a = `b ${c ? `d ${{ e: 1 }.e}` : "f"} g` // h\nz = /["`]/.test(i) / 2 /* j */',
    )
    const { code, strings } = scan(source)
    assert.equal(code.length, source.text.length)
    assert.deepEqual(
      strings,
      ['f', 'd  ', 'b   g'].toSorted((a, b) => strings.indexOf(a) - strings.indexOf(b)),
    )
    assert.equal(
      code.replaceAll(/\s+/g, ' '),
      'a = ` ${c ? ` ${{ e: 1 }.e}` : } ` z = .test(i) / 2 ',
    )
  })

  it('finds every kind of import', () => {
    const source = file(
      "import a from './b.ts'\nimport type { c } from '../d.ts'\nimport {\n  e,\n} from '@x/y/z'\nexport * from './f.ts'\nawait import('./g.ts')\nimport 'pg'\n",
    )
    assert.deepEqual(
      importsOf(source).map(({ target, isType }) => `${target}${isType ? ' type' : ''}`),
      ['src/b.ts', 'd.ts type', '@x/y', 'src/f.ts', 'src/g.ts', 'pg'],
    )
  })

  it('finds the bodies of functions and nothing else', () => {
    const source = file(
      'function a(): Promise<{ b: 1 }> {\n  if (c) {\n  }\n}\nconst d = {\n  e: (f) => {\n  },\n  g() {\n  },\n}\nclass H {\n}\n',
    )
    assert.deepEqual(
      functionBodies(source).toSorted(([a], [b]) => a - b),
      [
        [1, 4],
        [6, 7],
        [8, 9],
      ],
    )
  })
})
