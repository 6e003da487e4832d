// What the documents of the earlier system show, as data, each tried unchanged: it works, is converted, or is refused with a sentence that
// the guide quotes. The settings are tried in test/base/settings/config.test.ts, the nine Booleans in test/m365/functions.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { describedRoutes } from '../../src/api/routes.ts'
import { EXIT } from '../../src/base/errors/errors.ts'
import { readConfig } from '../../src/base/settings/config.ts'
import { parseDurationSec, parseOffsetMinutes } from '../../src/base/text/duration.ts'
import { type MessageType, readMessage } from '../../src/domain/messages/messages.ts'
import { convertRunbook } from '../../src/domain/runbook/convert.ts'
import { readRunbook } from '../../src/domain/runbook/read.ts'
import { resolveTemplates, scopeOf } from '../../src/domain/runbook/template.ts'
import { M365_CATALOGUE } from '../../src/m365/catalogue.ts'
import { STANDARD_FUNCTIONS } from '../../src/m365/functions/standard.ts'
import { readConnection } from '../../src/scheduler/sources/connection.ts'
import { fitParameters } from '../../src/worker/jobs/fit-parameters.ts'
import { plain, plainCsv } from '../api/contract/fixtures.ts'
import { type Cli, openCli } from '../cli/against-api.ts'
import { openTestPglite, type TestDatabase } from '../kit/databases.ts'

const DATA = join(import.meta.dirname, '../fixtures/earlier-system')
const textOf = (file: string) => readFileSync(join(DATA, file), 'utf8')
const linesOf = (file: string) => textOf(file).trim().split('\n')
const GUIDE = readFileSync(
  join(import.meta.dirname, '../../docs/coming-from-the-earlier-system.md'),
  'utf8',
)
const requireInGuide = (sentence: string) => assert.ok(GUIDE.includes(sentence), sentence)

describe('YAML of the documents', () => {
  /** A runbook around a part of one; `uses` makes a step use its rollback. */
  const whole = (part: string, uses = '') => `name: contoso-mailbox-migration
data_source: { type: dataverse, connection: DATAVERSE_CONNECTION_STRING, query: select 1, primary_key: UserPrincipalName, batch_time_column: At }
${part}${
  /^phases:/m.test(part)
    ? ''
    : `phases:
  - { name: move, offset: T-0, steps: [{ name: a, worker_id: worker-01, function: Start-Move, params: { U: "{{UserPrincipalName}}" }${uses} }] }
`
}`
  const problems = (text: string) =>
    readRunbook(text, { catalogues: [M365_CATALOGUE] }).problems.filter(
      ({ code }) => code !== 'UNKNOWN_FUNCTION',
    )

  for (const [file, uses] of [
    ['init', ''],
    ['on-member-removed', ''],
    ['rollbacks', ', on_failure: undo-mailbox-move'],
  ] as const)
    it(`${file} works as it is`, () => {
      const text = whole(textOf(`fragments/${file}.yaml`), uses)
      assert.deepEqual(problems(text), [])
      assert.deepEqual(convertRunbook(text, { catalogues: [M365_CATALOGUE] }).conversions, [])
    })

  for (const document of ['001', '002'])
    it(`retry of ${document} is read as it is; its steps only lack what the sample leaves out`, () => {
      const found = problems(whole(textOf(`fragments/retry.${document}.yaml`)))
      const others = found.filter(({ code, text }) => code !== 'MISSING_KEY' && text !== '...')
      assert.deepEqual(others, [])
      assert.ok(found.length > 0)
    })

  const indented = (text: string, by: number) => text.replaceAll(/^(?=.)/gm, ' '.repeat(by))
  const PHASE = 'phases:\n  - name: move\n    offset: T-0\n'
  const STEP = `${PHASE}    steps:\n      - name: a\n        worker_id: worker-01\n`
  const SHAPES: Readonly<Record<string, (text: string) => string>> = {
    runbook: (text) => text,
    'data-source': (text) => text,
    phases: (text) => text,
    steps: (text) => PHASE + indented(text, 4),
  }
  for (const [file, around] of Object.entries(SHAPES))
    it(`every key in the shape of ${file} is a key of a runbook here`, () => {
      const found = problems(around(textOf(`shapes/${file}.yaml`)))
      assert.deepEqual(
        found.filter(({ code }) => code === 'UNKNOWN_KEY'),
        [],
      )
      // Its placeholders stand where texts, lists and maps belong: it was looked at.
      assert.ok(found.some(({ text }) => text.includes('<')))
    })

  it('templates of parameters and of the function work as they are', () => {
    const params = `${STEP}        function: Set-Own\n${indented(textOf('fragments/params.yaml'), 8)}`
    assert.deepEqual(problems(whole(params)), [])
    const named = `${STEP}${indented(textOf('fragments/function-template.yaml'), 8)}`
    const { runbook } = readRunbook(whole(named))
    const [step] = runbook!.phases[0]!.steps
    const found = resolveTemplates(step!.function, scopeOf([{ ObjectType: 'EntraUser' }]))
    assert.deepEqual(found, { ok: true, value: 'New-EntraUser' })
  })

  it('a rollback that deletes by name is refused with the sentence of the guide', () => {
    const text = whole(textOf('fragments/rollback-cleanup.yaml'), ', on_failure: cleanup_user')
    const [error] = problems(text).filter(({ severity }) => severity === 'error')
    assert.match(error!.message, /^Remove-EntraUser needs the parameter "UserId"/)
    requireInGuide('Remove-EntraUser needs the parameter "UserId"')
  })

  const { offsets, durations } = JSON.parse(textOf('functions.json'))
  for (const [text, minutes] of Object.entries(offsets))
    it(`the offset ${text} means ${minutes} minutes before the start`, () => {
      assert.equal(Math.abs(parseOffsetMinutes(text)!), minutes)
    })
  for (const [text, seconds] of Object.entries(durations))
    it(`the duration ${text} means ${seconds} s`, () => {
      assert.equal(parseDurationSec(text), seconds)
    })
})

describe('messages of the documents', () => {
  for (const file of readdirSync(join(DATA, 'messages'))) {
    const type = file.replace(/\.\d+\.json$/, '')
    const body = textOf(`messages/${file}`)
    it(`${file} is read, in its casing`, () => {
      const { Error: failure } = JSON.parse(body)
      const [sent, as] =
        type === 'error'
          ? [{ JobId: 'step-123', Status: 'Failure', Error: failure }, 'worker-result']
          : [JSON.parse(body), type]
      const read = readMessage(as as MessageType, JSON.stringify(sent), 'worker-results' as never)
      assert.ok(read.ok, JSON.stringify(read))
      const { message } = read
      assert.equal(message.messageType, as)
      if (type === 'error')
        assert.deepEqual((message as { error?: object }).error, {
          message: 'User not found',
          type: 'Microsoft.Graph.ServiceException',
          isThrottled: false,
          attempts: 1,
        })
    })
  }
})

describe('functions of the documents', () => {
  const { returns } = JSON.parse(textOf('functions.json'))
  for (const [name, type] of Object.entries(returns))
    it(`${name} is there, and answers the earlier orchestrator with ${type}`, () => {
      const found = STANDARD_FUNCTIONS.find((one) => one.name === name)
      assert.equal(found?.answeredTrue ?? false, type === 'Boolean')
    })
  for (const file of ['worker-job.000.json', 'worker-job.002.json'])
    it(`takes the parameters of ${file}`, () => {
      const job = JSON.parse(textOf(`messages/${file}`))
      const given = { ...(job.parameters ?? job.Parameters) }
      if (given.UserPrincipalName === '...') given.UserPrincipalName = 'jdoe@contoso.com'
      const found = STANDARD_FUNCTIONS.find(({ name }) => name === 'New-EntraUser')!
      const fitted = fitParameters(found, given)
      assert.ok('params' in fitted, JSON.stringify(fitted))
    })
})

describe('tables of the documents', () => {
  const tables: Record<string, string> = JSON.parse(textOf('tables.json'))
  let test: TestDatabase
  before(async () => {
    test = await openTestPglite()
  })
  after(() => test.close())

  for (const [table, columns] of Object.entries(tables))
    it(`${table} has their columns, or the guide says which are gone`, async () => {
      const found = await test.db.query<{ name: string }>(
        'select column_name as name from information_schema.columns where table_name = $1',
        [table],
      )
      const here = new Set(found.map(({ name }) => name))
      assert.ok(here.size > 0)
      const snake = (name: string) => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
      for (const column of columns.split(' ').map(snake))
        if (!here.has(column)) requireInGuide(`\`${column}\``)
    })
})

describe('what the documents type to build and to deploy', () => {
  for (const line of linesOf('shell.txt').filter((one) => !one.startsWith('#')))
    it(`has its place in the guide: ${line.slice(0, 90)}`, () => {
      const [, folder] = /infra\/(?:automation\/)?([\w-]+)\/deploy\.bicep/.exec(line) ?? []
      const [first, second] = line.split(' ')
      const named = /\[(runbook_)/.exec(line)?.[1] ?? (/db_data/.test(line) ? 'CREATE USER' : null)
      requireInGuide(named ?? folder ?? (first === 'cd' ? 'func start' : `${first} ${second}`))
    })
})

describe('connection strings of the documents', () => {
  const strings: Record<string, string> = JSON.parse(textOf('connections.json'))
  const read = (type: 'dataverse' | 'databricks' | 'sqlserver', name: string) =>
    readConnection(type, strings[name]!, name, () => {})

  it('of Dataverse, Databricks and Azure SQL are data sources as they are', () => {
    assert.equal(read('dataverse', 'DATAVERSE_CONNECTION_STRING').identity.kind, 'managed_identity')
    assert.equal(read('databricks', 'DATABRICKS_CONNECTION_STRING').database, null)
    const name = 'scheduler-sql-connection-string'
    assert.equal(read('sqlserver', name).database, 'sqldb-scheduler-dev')
  })

  it('of Azure SQL as the state, and of KEDA, are refused with the sentences of the guide', () => {
    const found = readConfig({
      DATABASE_URL: strings['scheduler-sql-connection-string'],
      MATOOLKIT_SERVICEBUS_CONNECTION: strings['keda-sb-connection-string'],
    })
    assert.ok('problems' in found)
    const said = found.problems.join('\n')
    for (const part of [
      'must be an address such as postgres://user:password@host:5432/database',
      'must be a connection string of the emulator',
    ]) {
      assert.ok(said.includes(part), said)
      requireInGuide(part)
    }
    assert.doesNotMatch(said, /a2V5|sql-scheduler-dev/)
  })
})

describe('the 20 endpoints of the documents', () => {
  const bare = (path: string) => path.replaceAll(/\{[^}]+\}/g, '{}')
  const known = new Set(describedRoutes().map(({ method, path }) => `${method} ${bare(path)}`))
  for (const line of linesOf('endpoints.txt'))
    it(line, () => {
      assert.ok(known.has(bare(line)), line)
    })
})

describe('command lines of the documents', () => {
  let cli: Cli
  let words: Record<string, string>
  before(async () => {
    cli = await openCli()
    // Files are written where one is.
    process.chdir(cli.folder)
    words = {
      '<file>': cli.file('contoso.yaml', plain('contoso')),
      '<members>': cli.file('people.csv', plainCsv('ada@x.example', 'bob@x.example')),
      '<more>': cli.file('more.csv', plainCsv('cy@x.example')),
      '<name>': 'contoso',
      '<runbook>': 'contoso',
      '<id>': '1',
      '<batch-id>': '1',
      '<member-id>': '2',
      '<version>': '1',
      '<key>': 'api-scope',
      '<value>': 'api://x/.default',
    }
  })
  const folder = process.cwd()
  after(async () => {
    process.chdir(folder)
    await cli.close()
  })

  /** They need a person or a reason for the audit: the refusal names the line, and so does the guide. */
  const NAMES_THE_LINE: Readonly<Record<string, string>> = {
    'batch remove-member': '`batch remove-member ID MEMBER -f` in a script | refused with the line',
    'batch advance': '`batch advance ID` in a script | refused with the line',
    'batch cancel': '| `batch cancel ID -f`, ',
    'runbook delete': '`runbook delete NAME VERSION` in a script | refused with the line',
  }

  for (const line of linesOf('commands.txt'))
    it(`matoolkit ${line}`, async () => {
      const command = line.split(' ').slice(0, 2).join(' ')
      const args = line.split(' ').map((word) => words[word] ?? word)
      const said = await cli.script(...args)
      // The tests' own token stands for a sign-in, and their API asks no data source.
      if (command === 'auth login') assert.match(said.err, /MATOOLKIT_TOKEN is set/)
      else if (command === 'query preview') assert.match(said.err, /\(PREVIEW_UNAVAILABLE\)\n$/)
      else if (NAMES_THE_LINE[command]) {
        assert.equal(said.exit, EXIT.usage, said.err)
        const [, now] = /In a script: matoolkit (.+)\n$/.exec(said.err)!
        const done = await cli.script(...now!.split(' '))
        assert.equal(done.exit, EXIT.ok, done.err)
        requireInGuide(NAMES_THE_LINE[command])
      } else assert.equal(said.exit, EXIT.ok, said.err)
    })
})
