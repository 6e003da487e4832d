// Every command answers in every format, as data in a pipe and as a table on a terminal, and every table fits the window.
import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse as parseCsv } from 'csv-parse/sync'
import { parseAllDocuments } from 'yaml'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { OUTPUT_FORMATS } from '../../../src/cli/terminal/show.ts'
import { textWidth } from '../../../src/cli/terminal/text-width.ts'
import { readNotificationSettings } from '../../../src/domain/notifications/read-settings.ts'
import { plain, plainCsv } from '../../api/contract/fixtures.ts'
import { range, startProgramme, wave } from '../../stories/programme.ts'
import { type Cli, openCli, setEnv } from '../against-api.ts'
import { COMMANDS, flagOf } from '../every-command.ts'

/** Commands without `--output`: they run until stopped, or print one kind of document. */
const NO_ANSWER = ['up', 'serve', 'sandbox', 'runbook init', 'completion']
/** Commands whose formats are tested where their setup is. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'auth login': 'auth.test.ts: it needs an issuer',
  'automation tick': 'tick.test.ts: it needs a data source',
  'query preview': 'serve.test.ts: it needs a scheduler in the same process',
  'runbook rehearse': 'rehearsal/command.test.ts: it takes seconds',
  'batch rehearse': 'proof/rehearsal/live-batch.test.ts: it takes seconds',
  'runbook preview-message': 'messages.test.ts: it needs messages',
  'db purge': 'retention/commands.test.ts: it opens the database itself',
  'db erase': 'retention/commands.test.ts: it opens the database itself',
  'db backup': 'snapshots.test.ts: it opens the database itself',
  'evidence verify': 'evidence.test.ts: it needs a pack',
  'db migrate': 'schema.test.ts: it needs an empty server',
  'db grant': 'database-roles.test.ts: it needs roles of a server',
}
/** Text answers: the same in a pipe and on a terminal. */
const TEXTS: Readonly<Record<string, RegExp>> = {
  'runbook validate': /plain\.yaml: valid, 2 warnings\n$/,
  'runbook get': /^\nname: plain\n/,
  'runbook diff': /^--- plain version 1\n/,
  'batch watch': / completed \| /,
  'auth token': /^\S+\n$/,
  'db migrate': /^Applied /,
  'db grant': /rights\n$/,
  'config set': /^output is json in profile default\.\n$/,
  'config set output --unset': /^output is not set in profile default\.\n$/,
  'status --link': /^http:\S+\n$/,
  'config use': /^Using profile default\.\n$/,
  'config path': /config\.json\n$/,
}

const WHY = ['--reason', 'because']
const SURE = [...WHY, '--yes']
const TRIED = [...WHY, '--dry-run']
/** Names with wide characters, combining accents and an emoji. */
const KEYS = ['王小明@例え.example', 'jose\u0301@x.example', '👩‍🚀.ada@x.example', 'bob@x.example']
const LONG = `${'Die Lizenz fehlt; 許可証がありません。'.repeat(9)} end`

let cli: Cli
let stepId = ''
let letters: string[] = []
let reviewIds: string[] = []
let advanced = ''
let notificationId = ''
let actionId = ''
const file = (name: string) => `${cli.folder}/${name}`

before(async () => {
  const read = readNotificationSettings(
    '{ channels: [{ name: night, type: teams, url_file: u }], rules: [{ conditions: [stuck], channels: [night] }] }',
  )
  cli = await openCli({ options: { notifications: 'settings' in read ? read.settings : null } })
  const world = await startProgramme(cli.api.world)
  await world.tick(wave(40, ...range(1, 10)))
  await world.tick(wave(40, ...range(6, 10)))
  await world.tick()
  const { reviews } = await cli.json<{ reviews: { id: number }[] }>('review', 'list')
  reviewIds = reviews.map(({ id }) => String(id))
  for (const body of ['first', 'second']) await world.result({ jobId: body }, { ok: body })
  await world.bus.deadLetter(await world.bus.receive(WORKER_RESULTS, 10), 'Unreadable', LONG)
  letters = (
    await cli.json<{ deadLetters: { id: string }[] }>('deadletters', 'list')
  ).deadLetters.map(({ id }) => id)
  cli.file('plain.yaml', plain())
  cli.file('other.yaml', plain('plain', 'make'))
  await cli.json('runbook', 'publish', file('plain.yaml'))
  await cli.json('batch', 'create', 'plain', cli.file('people.csv', plainCsv(...KEYS)))
  cli.file('more.csv', plainCsv('dee@x.example'))
  cli.file('others.csv', plainCsv('eve@x.example'))
  world.answer = ({ parameters, functionName }) =>
    functionName === 'Switch-Thing' && parameters.UserPrincipalName !== KEYS[3]
      ? { fail: LONG }
      : { ok: {} }
  for (const _ of ['prepare', 'cutover']) {
    await cli.json('batch', 'advance', '2', '--yes')
    await world.settle()
  }
  const { steps } = await cli.json<{ steps: { id: number }[] }>(
    'batch',
    'steps',
    '2',
    '--status',
    'failed',
  )
  stepId = String(steps[0]!.id)
  const variable = ['--member', KEYS[3]!, '--set', 'Note=seen', ...SURE]
  const set = await cli.json<{ actionId: number }>('batch', 'set-variable', '2', ...variable)
  actionId = String(set.actionId)
  const made = await cli.json<{ batchId: number }>('batch', 'create', 'plain', file('more.csv'))
  advanced = String(made.batchId)
  notificationId = String((await cli.json<{ id: number }>('notification', 'test', 'night')).id)
})
after(() => cli.close())

type Args = () => readonly string[]

/** Commands that can run repeatedly. */
const ASKED: Readonly<Record<string, Args>> = {
  'runbook validate': () => [file('plain.yaml')],
  'runbook publish': () => [file('plain.yaml')],
  'runbook list': () => [],
  'runbook get': () => ['plain'],
  'runbook versions': () => ['plain'],
  'runbook diff': () => ['plain', '--file', file('other.yaml')],
  'runbook plan': () => ['plain', '--batch', '2'],
  'automation status': () => ['wave'],
  'automation enable': () => ['plain', ...WHY],
  'automation disable': () => ['plain', ...WHY],
  'template download': () => ['plain', '--file', file('template.csv'), '--force'],
  'batch list': () => [],
  'batch get': () => ['2'],
  'batch phases': () => ['2'],
  'batch members': () => ['2'],
  'batch export': () => ['2', '--file', file('report.html'), '--force'],
  'batch messages': () => ['2'],
  'batch steps': () => ['2'],
  'batch watch': () => ['2', '--timeout', '5s'],
  'batch create': () => ['plain', file('others.csv'), '--dry-run'],
  'batch cancel': () => ['1', ...TRIED],
  'batch add-members': () => ['2', file('others.csv'), '--dry-run'],
  'batch override-window': () => ['1', '--until', '2026-04-01T08:00:00Z', ...TRIED],
  'batch reschedule': () => ['1', '2026-04-01T08:00:00Z', ...TRIED],
  'batch clone': () => ['2', '--members', 'failed', ...TRIED],
  'batch retry': () => ['2', '--all', ...TRIED],
  'batch set-variable': () => ['2', '--member', KEYS[0]!, '--set', 'A=1', ...TRIED],
  'batch move-member': () => ['2', KEYS[3]!, '--to', advanced, ...TRIED],
  'batch remove-member': () => ['2', KEYS[0]!, ...TRIED],
  'batch rollback': () => ['2', KEYS[3]!, ...TRIED],
  'batch undo': () => ['2', KEYS[3]!, ...TRIED],
  'batch readd-member': () => ['2', KEYS[0]!, ...TRIED],
  'batch skip': () => [stepId, ...TRIED],
  'member find': () => [KEYS[0]!],
  'member show': () => ['2', KEYS[0]!],
  actions: () => [],
  'step show': () => [stepId],
  failures: () => ['2'],
  hold: () => [],
  status: () => [],
  handover: () => [],
  events: () => ['2'],
  'review list': () => [],
  'review approve': () => [...reviewIds.slice(0, 2), ...TRIED],
  'review dismiss': () => [...reviewIds.slice(0, 2), ...TRIED],
  'source list': () => [],
  'notification test': () => ['night'],
  'notification list': () => [],
  'notification channels': () => [],
  'deadletters list': () => [],
  'worker list': () => [],
  'auth status': () => [],
  'auth logout': () => [],
  'auth token': () => [],
  'audit list': () => [],
  'audit verify': () => [],
  'evidence key': () => [],
  'config show': () => [],
  'config set': () => ['output', 'json'],
  'config use': () => ['default'],
  'config path': () => [],
  doctor: () => [],
  'function list': () => [],
  'db snapshots': () => [],
}

/** Other forms of commands. */
const FORMS: Readonly<Record<string, Args>> = {
  'batch get 2 --forecast': () => [],
  'batch get 2 --gates': () => [],
  'batch export 2 --as run-sheet --force': () => ['--file', file('sheet.html')],
  'batch export 2 --as evidence --force': () => ['--file', file('evidence.tar.gz')],
  'batch undo 2 --init': () => TRIED,
  'batch retry 2 --again': () => ['--member', KEYS[3]!, '--from-step', 'switch', ...TRIED],
  'batch retry 2': () => ['--step-id', stepId, ...TRIED],
  'batch skip': () => [stepId, '--done', ...TRIED],
  'source list wave --ticks': () => [],
  'source list wave --issues': () => [],
  'member show 2 --effects': () => [KEYS[0]!],
  'notification list --open': () => [],
  'notification list': () => [notificationId],
  'deadletters list': () => [letters[0]!],
  'worker list w1': () => [],
  'function list New-EntraUser': () => [],
  'status --link': () => [],
  'status 1': () => [],
  'db restored --list': () => [],
  actions: () => [actionId],
  'config set output --unset': () => [],
}

/** Commands that run once, in this order, with JSON by default. */
const DONE_ONCE: Readonly<Record<string, Args>> = {
  'batch advance': () => [advanced, '--yes'],
  'deadletters replay': () => [letters[0]!, ...SURE],
  'deadletters discard': () => [letters[1]!, ...SURE],
  'db restored': () => [...SURE],
}

/** Refused here, because there is nothing to decide; operator.test.ts has their answers. */
const REFUSED: Readonly<Record<string, Args>> = {
  'runbook delete': () => ['plain', '9', '--yes'],
  'batch retry 1 --init': () => WHY,
  'batch approve': () => ['1', 'cutover', ...WHY],
  'batch approve 1 cutover --waive': () => ['--until', '+2h', ...WHY],
  'batch approve 1 cutover --withdraw': () => WHY,
  resume: () => ['--all', ...SURE],
  'batch accept-late': () => [stepId, ...SURE],
  'db restore': () => ['--yes'],
}

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  json: (text) => JSON.parse(text),
  yaml: (text) => {
    const documents = parseAllDocuments(text)
    for (const { errors } of documents as { errors: Error[] }[]) assert.deepEqual(errors, [])
    return documents
  },
  csv: (text) => parseCsv(text),
}

const asData = (words: string, text: string): unknown =>
  words === 'batch watch'
    ? text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown)
    : JSON.parse(text)

/** The fixtures have failures, which call somebody. */
const exitOf = (words: string): number =>
  ['status', 'handover'].includes(words) ? EXIT.needed : EXIT.ok

describe('--output', () => {
  it('exists for every command that answers, with all formats and no fixed default', () => {
    for (const [words, command] of COMMANDS) {
      const flag = flagOf(command, '--output')
      if (NO_ANSWER.includes(words)) assert.equal(flag, undefined, words)
      else {
        const more = words === 'runbook validate' ? ['sarif'] : []
        assert.deepEqual(flag?.argChoices, [...OUTPUT_FORMATS, ...more], words)
        assert.equal(flag?.short, '-o', words)
        assert.equal(flag?.defaultValue, undefined, words)
        assert.match(flag.description, words in TEXTS ? /plain text/ : /else json/, words)
      }
    }
  })

  it('is tested below for every command', () => {
    const tried = [ASKED, DONE_ONCE, REFUSED, ELSEWHERE].flatMap((some) => Object.keys(some))
    const known = COMMANDS.map(([words]) => words).filter((words) => !NO_ANSWER.includes(words))
    const forms = tried.filter((words) => known.some((one) => words.startsWith(`${one} `)))
    assert.deepEqual(tried.filter((words) => !forms.includes(words)).sort(), known.sort())
  })

  for (const [words, args] of [...Object.entries(ASKED), ...Object.entries(FORMS)]) {
    it(`${words}: JSON for scripts by default, and every format`, async () => {
      const command = [...words.split(' '), ...args()]
      const piped = await cli.script(...command)
      assert.equal(piped.exit, exitOf(words), piped.err)
      const text = TEXTS[words]
      if (text) assert.match(piped.out, text)
      else assert.equal(typeof JSON.parse(piped.out), 'object')
      for (const format of OUTPUT_FORMATS) {
        const said = await cli.script(...command, '--output', format)
        assert.equal(said.exit, exitOf(words), said.err)
        assert.notEqual(said.out, '')
        if (format === 'json') asData(words, said.out)
        else READERS[format]?.(said.out)
      }
    })
  }

  for (const [words, args] of Object.entries(DONE_ONCE)) {
    it(`${words}: a script gets what was done as data`, async () => {
      const piped = await cli.script(...words.split(' '), ...args())
      assert.equal(piped.exit, exitOf(words), piped.err)
      assert.equal(typeof JSON.parse(piped.out), 'object')
      if (words === 'db restored') await cli.json('resume', '--all', ...SURE)
    })
  }

  for (const [words, args] of Object.entries(REFUSED)) {
    it(`${words}: nothing on stdout when it is refused`, async () => {
      const said = await cli.script(...words.split(' '), ...args())
      assert.ok([EXIT.conflict, EXIT.notFound].includes(said.exit as never), said.err)
      assert.equal(said.out, '')
    })
  }
})

describe('without --output', () => {
  const firstOf = async (...args: string[]) => (await cli.script(...args)).out.slice(0, 3)
  after(() => setEnv({ MATOOLKIT_OUTPUT: undefined }))

  it('a person gets a table, and a script JSON with all pages', async () => {
    assert.match((await cli.cli('batch', 'list')).out, /^ID +RUNBOOK/)
    const many = plainCsv(...range(1, 1_203).map((n) => `p${n}@x.example`))
    const { batchId } = await cli.json<{ batchId: number }>(
      'batch',
      'create',
      'plain',
      cli.file('many.csv', many),
    )
    const members = ['batch', 'members', String(batchId)]
    const piped = await cli.script(...members)
    const page = JSON.parse(piped.out) as { members: unknown[]; total: number; next: null }
    assert.deepEqual(
      [page.members.length, page.total, page.next, piped.err],
      [1_203, 1_203, null, ''],
    )
    const seen = await cli.cli(...members)
    assert.equal(seen.out.trimEnd().split('\n').length, 101)
    assert.equal(seen.err, 'Showing 100 of 1203; use --limit or --all for more.\n')
    const csv = await cli.script(...members, '--limit', '7', '--output', 'csv')
    assert.equal((READERS.csv!(csv.out) as unknown[]).length, 8)
    assert.equal(csv.err, 'Showing 7 of 1203; use --limit or --all for more.\n')
    const both = await cli.script(...members, '--limit', '7', '--all')
    assert.deepEqual([both.exit, both.out], [EXIT.usage, ''])
  })

  it('MATOOLKIT_OUTPUT wins over the profile, and a flag over both', async () => {
    await cli.cli('config', 'set', 'output', 'yaml')
    assert.equal(await firstOf('batch', 'get', '2'), 'bat')
    assert.match((await cli.cli('batch', 'get', '2')).out, /^batch:\n/)
    setEnv({ MATOOLKIT_OUTPUT: 'csv' })
    assert.match(await firstOf('batch', 'list'), /^ID,/)
    assert.match(await firstOf('batch', 'list', '-o', 'json'), /^\{/)
    assert.match((await cli.cli('config', 'show')).out, /^output,csv,MATOOLKIT_OUTPUT$/m)
    // Texts stay texts.
    assert.match(await firstOf('runbook', 'get', 'plain'), /^\nna/)
    setEnv({ MATOOLKIT_OUTPUT: 'xml' })
    const wrong = await cli.script('batch', 'list')
    assert.deepEqual([wrong.exit, wrong.out], [EXIT.usage, ''])
    assert.match(wrong.err, /output is "xml" \(MATOOLKIT_OUTPUT\), but must be one of table, json/)
    setEnv({ MATOOLKIT_OUTPUT: undefined })
    assert.match(
      (await cli.script('config', 'set', 'output', 'xml')).err,
      /output is "xml" .*\(CLIENT_SETTING_INVALID\)/,
    )
    await cli.cli('config', 'set', 'output', '--unset')
  })
})

describe('on a terminal', () => {
  // A long path once broke the width only where the clone lay deep.
  before(() =>
    setEnv({ MATOOLKIT_DATA_DIR: join(tmpdir(), 'a-folder-with-a-long-name'.repeat(3)) }),
  )
  after(() => setEnv({ MATOOLKIT_DATA_DIR: undefined }))

  const TABLES = Object.entries(ASKED).filter(([words]) => !(words in TEXTS))
  for (const width of [60, 80, 120]) {
    it(`everything fits ${width} columns, with names of every script`, async () => {
      for (const [words, args] of TABLES) {
        const said = await cli.person({ width }, ...words.split(' '), ...args())
        assert.equal(said.exit, exitOf(words), said.err)
        for (const line of said.out.split('\n')) {
          const isOneWord = !line.trim().includes(' ') || /^\S+ +\S+$/.test(line)
          // A command is there to be copied, so it stays on its line.
          const isCommand = /^ +matoolkit /.test(line)
          assert.ok(textWidth(line) <= width || isOneWord || isCommand, `${words}: ${line}`)
        }
      }
    })
  }

  it('never cuts ids, keys and times, and names omitted columns', async () => {
    for (const width of [60, 80, 120]) {
      const { out } = await cli.person({ width }, 'batch', 'members', '2')
      for (const key of KEYS.slice(0, 3)) assert.ok(out.includes(key), `${key} in ${width}`)
    }
    const narrow = await cli.person({ width: 90 }, 'batch', 'list')
    assert.match(
      narrow.err,
      /^Omitted columns: .*MANUAL.*\. Use a wider window or --output json\.\n$/,
    )
    const piped = await cli.script('batch', 'members', '2', '--output', 'table')
    assert.ok(piped.out.includes(LONG))
  })

  it('shows no control characters from names', async () => {
    const evil = 'eve\u202e\u001b[2J\u009b31m@x.example'
    const file = cli.file('evil.csv', plainCsv(`"${evil}"`))
    const { batchId } = await cli.json<{ batchId: number }>('batch', 'create', 'plain', file)
    for (const format of OUTPUT_FORMATS) {
      const said = await cli.cli('batch', 'members', String(batchId), '-o', format)
      for (const bad of ['\u001b', '\u009b', '\u202e']) assert.ok(!said.out.includes(bad), format)
    }
    const why = 'eve\u202e\u009b31m'
    const debugged = await cli.cli('resume', '--all', '--reason', why, '--dry-run', '--debug')
    assert.match(debugged.err, /> POST \S+\/holds\/resume \{.*eve\\u202e\\u009b31m/)
    assert.doesNotMatch(debugged.err, /[\u009b\u202e]/)
    const piped = await cli.script('batch', 'members', String(batchId))
    const { members } = JSON.parse(piped.out) as { members: { memberKey: string }[] }
    assert.equal(members[0]!.memberKey, evil)
  })
})
