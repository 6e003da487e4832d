// The report of a batch in three formats, with members that passed, failed and left, and with hostile names.
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'csv-parse/sync'
import { EXIT } from '../../../../src/base/errors/errors.ts'
import { plain, plainCsv } from '../../../api/contract/fixtures.ts'
import { type Cli, openCli } from '../../against-api.ts'
import { COMMANDS } from '../../every-command.ts'

const PASSED = 'ada@x.example'
const FAILED = '=cmd|calc@x.example'
const LEFT = '<script>alert(1)</script>@x.example'
const ERROR = '"Boom" & <b>bust</b> for =1+1'

const NIGHT = `name: night
data_source: {type: csv, path: people.csv, primary_key: UserPrincipalName, batch_time_column: Start, columns: [UserPrincipalName, DisplayName, Target, Start]}
windows:
  time_zone: Europe/Berlin
  hours: [{days: [fri, sat], from: "22:00", to: "06:00"}]
  freezes: [{from: "2030-12-19", to: "2031-01-06", reason: year end}]
rollbacks:
  close:
    - {name: close, worker_id: w, function: Disable-EntraUser, params: {UserId: "{{Target}}"}}
phases:
  - name: prepare
    offset: T-15m
    steps:
      - name: open
        worker_id: w
        function: Enable-EntraUser
        params: {UserId: "{{Target}}"}
        on_failure: close
        retry: {max_retries: 2, interval: 5m}
      - {name: look, worker_id: w, function: Test-EntraAttributeMatch, params: {UserId: "{{Target}}", AttributeName: mail, ExpectedValue: x}}
      - {name: own, worker_id: w, function: Our-Own}
  - name: cutover
    offset: T-0
    gate: {approvals: 2, ready: 90%}
    steps:
      - {name: switch, worker_id: w, function: Complete-MigrationUser, params: {Identity: "{{Target}}"}}
`

interface Report {
  readonly batch: { readonly id: number; readonly status: string }
  readonly phases: readonly { readonly phaseName: string }[]
  readonly failures: { readonly count: number }
  readonly course: readonly { readonly event: string }[]
  readonly members: readonly {
    readonly memberKey: string
    readonly status: string
    readonly state: string
    readonly finishedAt: string | null
  }[]
}

describe('matoolkit batch report', () => {
  let run: Cli
  before(async () => {
    const settings = { timeZone: 'UTC', quietHours: null, digestSec: null }
    const channel = (name: string) =>
      ({ ...settings, name, type: 'teams', url: { variable: 'MATOOLKIT_NOTIFY_URL' } }) as const
    const rule = (...channels: string[]) => ({ conditions: [], channels, runbooks: null })
    const notifications = {
      channels: [channel('night-duty'), channel('of-others')],
      rules: [rule('night-duty'), { ...rule('of-others'), runbooks: ['another'] }],
      urgent: [],
    }
    run = await openCli({ options: { notifications } })
    const { world } = run.api
    world.answer = ({ parameters, functionName }) =>
      functionName === 'Switch-Thing' && parameters.UserPrincipalName === FAILED
        ? { fail: ERROR }
        : { ok: {} }
    await world.publish(plain())
    const file = run.file('people.csv', plainCsv(PASSED, FAILED, LEFT))
    await run.json('batch', 'create', 'plain', file)
    for (const _ of ['prepare', 'cutover']) {
      await run.json('batch', 'advance', '1', '--yes')
      await world.settle()
    }
    await run.json('batch', 'remove-member', '1', '3', '--reason', 'left', '--yes')
    await world.settle()
  })
  after(() => run.close())
  const path = (name: string) => join(run.folder, name)
  const report = async (name: string, ...more: string[]) => {
    const said = await run.cli('batch', 'export', '1', '--file', path(name), ...more)
    assert.equal(said.exit, EXIT.ok, said.err)
    return readFileSync(path(name), 'utf8')
  }

  it('is a table of members that no spreadsheet executes', async () => {
    const rows = parse(await report('wave.csv'), { columns: true }) as Record<string, string>[]
    assert.deepEqual(
      rows.map(({ member, state, failedPhase, failedStep, error }) => [
        member,
        state,
        failedPhase,
        failedStep,
        error,
      ]),
      [
        [LEFT, 'removed', '', '', ''],
        [`'${FAILED}`, 'failed', 'cutover', 'switch', `${ERROR} (TestError)`],
        [PASSED, 'done', '', '', ''],
      ],
    )
  })

  it('is the JSON of the API, and nothing internal unless asked', async () => {
    const { batch, phases, failures, course, members } = JSON.parse(
      await report('wave.json', '--internal'),
    ) as Report
    assert.deepEqual([batch.id, batch.status, failures.count], [1, 'completed', 1])
    assert.deepEqual(
      phases.map(({ phaseName }) => phaseName),
      ['prepare', 'cutover'],
    )
    assert.deepEqual(
      new Set(members.map(({ memberKey, status }) => `${memberKey} ${status}`)),
      new Set([`${PASSED} active`, `${FAILED} failed`, `${LEFT} removed`]),
    )
    assert.ok(course.some(({ event }) => event === 'complete'))
    const customers = await report('customer.json')
    const { members: theirs, ...head } = JSON.parse(customers) as Report
    assert.deepEqual(Object.keys(head), ['madeAt', 'batch', 'phases', 'failures'])
    assert.deepEqual(
      theirs.map(({ memberKey, state, finishedAt }) => [memberKey, state, finishedAt !== null]),
      [
        [LEFT, 'removed', false],
        [FAILED, 'failed', false],
        [PASSED, 'done', true],
      ],
    )
    for (const word of [/removedBy/, /createdBy/, /workerId/, /"api"/, /stepId/, /Test operator/])
      assert.doesNotMatch(customers, word)
  })

  it('is a self-contained page that escapes every name', async () => {
    const page = await report('wave.html')
    assert.match(page, /1 of 2 done, 1 failed, 1 removed\. The batch is completed\./)
    assert.ok(page.includes('&lt;script&gt;alert(1)&lt;/script&gt;@x.example'))
    assert.ok(page.includes('&quot;Boom&quot; &amp; &lt;b&gt;bust&lt;/b&gt;'))
    assert.doesNotMatch(page, /<(?:script|link|img|iframe|object)\b|\bsrc=|url\(|@import|\bon\w+=/i)
    assert.match(page, /default-src 'none'/)
    assert.equal(statSync(path('wave.html')).mode & 0o777, 0o600)
  })

  it('shows states and local times, and nothing internal unless asked', async () => {
    const page = await report('customer.html', '--zone', 'Europe/Berlin')
    assert.match(page, /<h2 id="done">Done \(1\)<\/h2>[\s\S]*Finished/)
    assert.match(page, /<h2 id="failed">Failed \(1\)<\/h2>/)
    assert.match(page, /<time datetime="2026-03-02T08:00:00.000Z">[^<]*09:00[^<]*CET<\/time>/)
    assert.match(page, /Times are in the zone Europe\/Berlin\./)
    const internal = [/History/, /Created by/, /Removed by/, /\bjobId\b|step-\d/]
    for (const word of internal) assert.doesNotMatch(page, word)
    const whole = await report('ours.html', '--internal')
    for (const word of internal.slice(0, 3)) assert.match(whole, word)
    const rows = await report('customer.csv', '--zone', 'Europe/Berlin')
    assert.match(rows, /09:00 CET/)
    assert.doesNotMatch(rows, /removedBy/)
  })

  it('is accessible: language, title, ordered headings, captions, row and column headings', async () => {
    const page = await report('ear.html')
    assert.match(page, /<html lang="en">[\s\S]*<title>Batch 1 of plain<\/title>/)
    const levels = [...page.matchAll(/<h(\d)/g)].map(([, level]) => level)
    assert.deepEqual(levels, ['1', ...Array.from({ length: levels.length - 1 }, () => '2')])
    const times = (pattern: RegExp) => page.match(pattern)?.length ?? 0
    assert.equal(times(/<table>/g), times(/<table><caption>[^<]+<\/caption>/g))
    assert.equal(times(/<th\b/g), times(/<th scope="(?:row|col)"[ >]/g))
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    assert.equal(new Set(ids).size, ids.length)
    for (const [, id] of page.matchAll(/aria-labelledby="([^"]+)"/g)) assert.ok(ids.includes(id))
    // What can be scrolled sideways can be reached by keyboard.
    assert.equal(times(/<section /g), times(/<section [^>]*tabindex="0"/g))
    assert.match(page, /@media print/)
  })

  it('writes to stdout on request, in the requested format', async () => {
    const { out } = await run.cli('batch', 'export', '1', '--format', 'csv', '--file', '-')
    assert.match(out, /^member,name,department,batch,batchStartTime,state,failedPhase,/)
    assert.equal(out.trimEnd().split('\n').length, 4)
  })

  it('says what it wrote, in every format', async () => {
    const file = path('said.html')
    const { out } = await run.cli('batch', 'export', '1', '--file', file)
    assert.match(out, /^file +\S+said\.html$/m)
    const told = await run.json('batch', 'export', '1', '--file', file, '--force')
    assert.deepEqual([told.file, told.format, told.status], [file, 'html', 'completed'])
  })

  it('never replaces a file without --force, and leaves no partial file', async () => {
    writeFileSync(path('mine.csv'), 'mine')
    const there = await run.cli('batch', 'export', '1', '--file', path('mine.csv'))
    assert.deepEqual([there.exit, /FILE_EXISTS/.test(there.err)], [EXIT.conflict, true])
    assert.equal(readFileSync(path('mine.csv'), 'utf8'), 'mine')
    const nowhere = await run.cli('batch', 'export', '1', '--file', path('no/such/a.csv'))
    assert.match(nowhere.err, /\(FILE_UNWRITABLE\)/)
    const none = await run.cli('batch', 'export', '9', '--file', path('none.csv'))
    assert.equal(none.exit, EXIT.notFound)
    assert.ok(!existsSync(path('none.csv')))
    assert.deepEqual(
      readdirSync(path('.')).filter((name) => name.startsWith('.')),
      [],
    )
    assert.equal((await run.cli('batch', 'export', 'x')).exit, EXIT.usage)
  })

  it('never writes through a planted link, and has no predictable draft', async () => {
    mkdirSync(path('shared'))
    const [target, file] = [path('target.txt'), path('shared/report.csv')]
    writeFileSync(target, 'untouched')
    const planted = [file, `${file}.part`, path('shared/gone.csv')]
    for (const link of planted.slice(0, 2)) symlinkSync(target, link)
    symlinkSync(path('not-there.txt'), planted[2]!)
    for (const [link, ...flags] of [
      [file],
      [file, '--force'],
      [planted[2]!],
      [planted[2]!, '--force'],
    ]) {
      const { exit, err } = await run.cli('batch', 'export', '1', '--file', link!, ...flags)
      const [code, why] =
        flags.length === 0
          ? [EXIT.conflict, /FILE_EXISTS/]
          : [EXIT.failed, /it is a link; name the/]
      assert.equal(exit, code, err)
      assert.match(err, why)
    }
    const beside = path('shared/beside.csv')
    symlinkSync(target, `${beside}.part`)
    await run.cli('batch', 'export', '1', '--file', beside)
    assert.match(readFileSync(beside, 'utf8'), /^member,name,/)
    assert.equal(readFileSync(target, 'utf8'), 'untouched')
    assert.ok(!existsSync(path('not-there.txt')))
  })

  it('has a run sheet with what a person needs when the network is down', async () => {
    const { world } = run.api
    await world.publish(NIGHT)
    const [name, old, target] = [
      '<b>Eve</b> & "sons"',
      'eve@fabrikam.example',
      'eve@contoso.example',
    ]
    const data = { UserPrincipalName: old, DisplayName: name, Target: target }
    const id = String(await world.batch('night', [{ key: old, data }], { startsInMin: 60 }))
    const said = await run.cli(
      'batch',
      'export',
      id,
      '--as',
      'run-sheet',
      '--file',
      path('sheet.html'),
    )
    assert.equal(said.exit, EXIT.ok, said.err)
    assert.equal(statSync(path('sheet.html')).mode & 0o777, 0o600)
    const page = readFileSync(path('sheet.html'), 'utf8')
    const has = (...texts: string[]) => {
      for (const text of texts) assert.ok(page.includes(text), text)
    }
    has(`Run sheet: batch ${id} of night`, 'night, version 1', 'UTC</dd>', 'T-15m', 'T-0')
    has('&lt;b&gt;Eve&lt;/b&gt; &amp; &quot;sons&quot;', old, target)
    has('2 approvals; 90 % ready', '0 of 2 approvals', 'fri, sat 22:00–06:00 (Europe/Berlin)')
    has('frozen 2030-12-19 to 2031-01-06: year end', 'night-duty (teams)')
    has('2 retries, first after 5m', 'rollback close, then the person fails')
    has('yes: Disable-EntraUser', 'Point of no return', 'changes nothing', 'unknown: not declared')
    has('When matoolkit cannot be reached', 'Phases start at their times', 'Telephone')
    assert.equal(page.match(/Point of no return/g)?.length, 1)
    assert.doesNotMatch(page, /of-others|<b>Eve|<script|\bsrc=|url\(|@import|https?:|\bon\w+=/i)
    const commands = [...page.matchAll(/<pre>matoolkit (.*?)<\/pre>/g)].map(([, line]) => line!)
    for (const words of commands.map((line) => line.split(' ')))
      assert.ok(
        COMMANDS.some(([known]) => `${words.join(' ')} `.startsWith(`${known} `)),
        words.join(' '),
      )
    const batchVerbs = ['cancel', 'override-window', 'undo', 'approve'].map(
      (verb) => `batch ${verb}`,
    )
    for (const verb of ['hold --batch', 'resume --batch', ...batchVerbs])
      assert.ok(
        commands.some((line) => line.startsWith(`${verb} ${id}`)),
        verb,
      )
    const again = await run.cli(
      'batch',
      'export',
      id,
      '--as',
      'run-sheet',
      '--file',
      path('sheet.html'),
    )
    assert.equal(again.exit, EXIT.conflict)
  })

  it('marks in the run sheet who passed and who failed, and leaves out who left', async () => {
    await run.cli('batch', 'export', '1', '--as', 'run-sheet', '--file', path('first.html'))
    const page = readFileSync(path('first.html'), 'utf8')
    const rowOf = (key: string) =>
      page.split('<tr>').find((row) => row.includes(`class="key">${key}`)) ?? ''
    const marks = (key: string) =>
      [...rowOf(key).matchAll(/aria-label="([^"]+)"/g)].map(([, m]) => m)
    assert.deepEqual(marks(PASSED), ['done', 'done'])
    assert.deepEqual(marks(FAILED), ['done', 'failed'])
    assert.ok(!page.includes('alert(1)'), 'who left is not on it')
    assert.ok(page.includes('&quot;Boom&quot; &amp; &lt;b&gt;bust&lt;/b&gt;'))
    assert.match(page, /<th scope="rowgroup" colspan="5">A<\/th>/)
  })

  it('lists every member, read page by page', async () => {
    const { world } = run.api
    const keys = Array.from(
      { length: 5_203 },
      (_, at) => `p${String(at).padStart(5, '0')}@x.example`,
    )
    const file = run.file('many.csv', plainCsv(...keys))
    const { batchId } = await run.json('batch', 'create', 'plain', file)
    await world.settle()
    const id = String(batchId)
    await run.cli('batch', 'export', id, '--file', path('many.html'))
    const page = readFileSync(path('many.html'), 'utf8')
    assert.match(page, /All 5,203, in the order of their keys\./)
    assert.equal(page.match(/<th scope="row" class="key">/g)?.length, keys.length)
    assert.match(page, /The batch was still running when this report was made/)
    await run.cli('batch', 'export', id, '--file', path('many.csv.csv'))
    const rows = readFileSync(path('many.csv.csv'), 'utf8').trimEnd().split('\r\n')
    assert.equal(rows.length, keys.length + 1)
    assert.equal(new Set(rows).size, rows.length)
    await run.cli('batch', 'export', id, '--as', 'run-sheet', '--file', path('many-sheet.html'))
    const sheet = readFileSync(path('many-sheet.html'), 'utf8')
    assert.equal(sheet.match(/<th scope="row" class="key">/g)?.length, keys.length)
    assert.match(sheet, /People \(5,203\)/)
  })
})
