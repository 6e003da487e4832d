// A manual migration by commands only, with failures that an operator inspects and repairs.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/base/errors/errors.ts'
import { plain, plainCsv } from '../api/contract/fixtures.ts'
import { type Cli, openCli } from '../cli/against-api.ts'

const KEYS = ['ada@x.example', 'bob@x.example', 'cy@x.example']
const WHY = ['--reason', 'because']

describe('a manual migration from the command line', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
  })
  after(() => cli.close())

  it('publishes a runbook, and says when it is unchanged', async () => {
    const file = cli.file('plain.yaml', plain())
    const dry = await cli.cli('runbook', 'publish', file, '--dry-run')
    assert.match(dry.out, /^Dry run: this would publish version 1 of "plain"\./)
    assert.match((await cli.cli('runbook', 'list')).out, /^No runbooks\./)
    const done = await cli.cli('runbook', 'publish', file)
    assert.equal(done.out, 'Published "plain" as version 1.\n', done.err)
    assert.match((await cli.cli('runbook', 'publish', file)).out, /nothing was published/)
    assert.match((await cli.cli('runbook', 'list')).out, /^NAME +VERSION[^\n]*\nplain +1 +off/)
    assert.equal((await cli.cli('runbook', 'get', 'plain')).out.trim(), plain().trim())
    const byFlag = await cli.cli('runbook', 'get', 'plain', '--version', '1')
    assert.equal(byFlag.out.trim(), plain().trim())
    const both = await cli.cli('runbook', 'get', 'plain', '2', '--version', '1')
    assert.deepEqual([both.exit, /not both 2 and 1/.test(both.err)], [EXIT.usage, true])
    assert.match((await cli.cli('runbook', 'versions', 'plain')).out, /\n +1 +yes +ignore/)
  })

  it('refuses a broken runbook with every problem', async () => {
    const file = cli.file(
      'broken.yaml',
      plain()
        .replace('T-1d', 'T-1w')
        .replace('UserPrincipalName, batch', 'UserPrincipalName, btch'),
    )
    const said = await cli.cli('runbook', 'publish', file)
    assert.equal(said.exit, EXIT.failed)
    assert.match(said.err, /\(RUNBOOK_INVALID\)\n {2}line \d+, column \d+: error /)
  })

  it('plans who gets what and when', async () => {
    const start = ['--start', '2030-03-01T20:00:00Z']
    const planned = await cli.cli('runbook', 'plan', 'plain', ...start)
    assert.match(
      planned.out,
      /\nprepare +Thu 28 Feb 2030 20:00 UTC +create +w1 +New-Thing .*"UserPrincipalName"/,
    )
    const late = await cli.cli('runbook', 'plan', 'plain', '--start', '2020-03-01T20:00:00Z')
    assert.match(late.err, /warning: phase prepare would start at once/)
    const other = cli.file('other.yaml', plain('other'))
    const differs = await cli.cli('runbook', 'plan', 'plain', '--file', other)
    assert.match(differs.err, /\(RUNBOOK_NAME_DIFFERS\)/)
    assert.match(
      (await cli.cli('source', 'list', 'plain', '--ticks')).out,
      /^The data source has not been queried/,
    )
  })

  it('downloads a template and accepts a member file', async () => {
    const template = join(cli.folder, 't.csv')
    await cli.cli('template', 'download', 'plain', '--file', template)
    assert.equal(readFileSync(template, 'utf8').split('\r\n')[0], 'UserPrincipalName,When')
    const again = await cli.cli('template', 'download', 'plain', '--file', template)
    assert.deepEqual([again.exit, /FILE_EXISTS/.test(again.err)], [EXIT.conflict, true])
    assert.match(
      (await cli.cli('template', 'download', 'plain', '--file', '-')).out,
      /^UserPrincipalName/,
    )
    assert.ok(!existsSync(join(cli.folder, '-')))

    const members = cli.file('members.csv', plainCsv(...KEYS))
    const made = await cli.cli('batch', 'create', 'plain', members)
    assert.match(made.out, /batch +1\nmembers +3\nphases +prepare, cutover\n/, made.err)
    const wrong = await cli.cli(
      'batch',
      'create',
      'plain',
      cli.file('w.csv', plainCsv('a@x', 'a@x')),
    )
    assert.match(wrong.err, / row 3, column UserPrincipalName: "a@x" .*\(MEMBER_ROWS_INVALID\)\n$/)
  })

  it('advances after confirmation, and only once', async () => {
    const nobody = await cli.cli('batch', 'advance', '1')
    assert.deepEqual([nobody.exit, /CONFIRMATION_NEEDED/.test(nobody.err)], [EXIT.usage, true])
    assert.match(nobody.err, /\n {2}In a script: matoolkit batch advance 1 --yes\n$/)
    const cancel = await cli.cli('batch', 'cancel', '1', '-f')
    assert.equal(cancel.exit, EXIT.usage)
    assert.match(cancel.err, /\n {2}In a script: matoolkit batch cancel 1 --yes --reason WHY\n$/)
    const leave = await cli.cli('batch', 'remove-member', '1', '1')
    assert.match(leave.err, /In a script: matoolkit batch remove-member 1 1 --reason WHY --yes\n$/)
    const no = await cli.person({ answers: ['n'] }, 'batch', 'advance', '1')
    assert.deepEqual(no.asked, ['Continue? [y/N] '])
    assert.deepEqual([no.exit, /CONFIRMATION_REFUSED/.test(no.err)], [EXIT.failed, true])
    const yes = await cli.person({ answers: ['y'] }, 'batch', 'advance', '1')
    assert.equal(yes.exit, EXIT.ok, yes.err)
    assert.match(yes.out, /prepare .*running/)
    const wrong = await cli.cli('batch', 'advance', '1', '--phase', 'prepare', '--yes')
    assert.deepEqual([wrong.exit, /\(REFUSED\)/.test(wrong.err)], [EXIT.conflict, true])
    const stuck = await cli.cli(
      'batch',
      'advance',
      '1',
      '--wait',
      '--timeout',
      '1s',
      '--yes',
      '--allow-stragglers',
    )
    assert.equal(stuck.exit, EXIT.timedOut, stuck.err)
  })

  it('shows members, steps and failures', async () => {
    cli.api.world.answer = ({ parameters, functionName }) =>
      functionName === 'New-Thing' || parameters.UserPrincipalName === KEYS[2]
        ? { ok: true }
        : { fail: 'no licence left' }
    await cli.api.world.settle()
    assert.match((await cli.cli('batch', 'list')).out, /\n +1 +plain +1 +completed /)
    assert.match((await cli.cli('batch', 'get', '1')).out, /members +1 of 3 done, 2 failed/)
    assert.match((await cli.cli('batch', 'phases', '1')).out, /cutover .*completed +3 +1 +2/)
    const members = await cli.json<{ members: object[]; total: number }>(
      'batch',
      'members',
      '1',
      '--status',
      'failed',
    )
    assert.equal(members.total, 2)
    const csv = (await cli.script('batch', 'members', '1', '-o', 'csv')).out
    assert.match(
      csv,
      /^ID,MEMBER,STATE,PHASE,STEP,NOW,ERROR\r\n1,ada@x\.example,failed,cutover,switch,failed in cutover \/ switch,no licence left/,
    )
    assert.match(
      (await cli.cli('batch', 'steps', '1', '--status', 'failed')).out,
      /bob@x\.example +cutover +switch +failed/,
    )
    assert.match(
      (await cli.cli('failures', '1')).out,
      /\n +2 +ada@x\.example, bob@x\.example +cutover +switch .* no licence left \(TestError\)\n/,
    )
    assert.match(
      (await cli.cli('member', 'show', '1', 'ADA@x.example')).out,
      /\nSteps\n[\s\S]*switch +failed[\s\S]*\nEvents, newest first/,
    )
    assert.match(
      (await cli.cli('status', '1')).out,
      /^Action needed: 2 people of batch 1 failed\.\nNothing is stuck\./,
    )
    const course = await cli.cli('events', '1', '--entity', 'batch,phase', '--limit', '2')
    assert.match(course.err, /Showing 2 of \d+/)
    assert.match(
      (await cli.cli('events', '1', '--member', KEYS[0]!, '--oldest')).out,
      /no licence left/,
    )
  })

  it('repairs: retry by selection, skip, mark done, redo, remove', async () => {
    const unsaid = await cli.cli('batch', 'retry', '1', ...WHY)
    assert.match(unsaid.err, /Select members with --all/)
    const dry = await cli.json('batch', 'retry', '1', '--failed-step', 'switch', '--dry-run')
    assert.deepEqual([dry.selectedCount, dry.isDryRun], [2, true])
    const retried = await cli.person({ answers: ['bought', 'y'] }, 'batch', 'retry', '1', '--all')
    assert.deepEqual(retried.asked, ['Reason: ', 'Continue? [y/N] '])
    assert.match(retried.err, /^2 people will be retried: ada@x.example, bob@x.example\.\n/m)
    assert.match(retried.out, /^2 people were retried: ada@x.example, bob@x.example\.\n$/)
    await cli.api.world.settle()
    const { steps } = await cli.json<{ steps: { id: number }[] }>(
      'batch',
      'steps',
      '1',
      '--status',
      'failed',
    )
    const [first, second] = steps.map(({ id }) => String(id))
    const step = await cli.cli('step', 'show', first!)
    assert.match(step.out, /\nfunction +Switch-Thing\n[\s\S]*\nAttempts\n/)
    assert.match((await cli.cli('batch', 'skip', first!, ...WHY, '--yes')).out, /status +skipped/)
    assert.match(
      (await cli.cli('batch', 'skip', second!, '--done', '--outputs', 'A=1', ...WHY, '--yes')).out,
      /status +succeeded/,
    )
    const bad = await cli.cli('batch', 'skip', second!, '--done', '--outputs', 'A', ...WHY, '--yes')
    assert.deepEqual([bad.exit, /--outputs is "A"/.test(bad.err)], [EXIT.usage, true])
    await cli.api.world.settle()
    const redone = await cli.json(
      'batch',
      'retry',
      '1',
      '--member',
      KEYS[2]!,
      '--from-step',
      'switch',
      '--again',
      ...WHY,
      '--yes',
    )
    assert.equal(redone.doneCount, 1)
    await cli.api.world.settle()
    const removed = await cli.cli('batch', 'remove-member', '1', KEYS[2]!, ...WHY, '--yes')
    assert.match(removed.out, /^1 person was removed: /, removed.err)
  })

  it('holds, resumes, adds, reschedules, cancels and clones', async () => {
    const more = cli.file('more.csv', plainCsv('dee@x.example', 'eve@x.example'))
    assert.match((await cli.cli('batch', 'create', 'plain', more)).out, /batch +2/)
    const added = cli.file('added.csv', plainCsv('fay@x.example'))
    assert.equal((await cli.json('batch', 'add-members', '2', added, '--dry-run')).addedCount, 1)
    assert.match((await cli.cli('batch', 'add-members', '2', added)).out, /added +1/)
    assert.match(
      (await cli.cli('batch', 'add-members', '2', added)).out,
      /skipped +1\n {2}skipped: member \d+ is already active\n/,
    )
    assert.match(
      (await cli.cli('hold', '--batch', '2', ...WHY)).out,
      /held +batch 2[\s\S]*reason +because/,
    )
    assert.match((await cli.cli('batch', 'list', '--held')).out, /\n +2 +plain +1 +held/)
    assert.equal((await cli.cli('resume', '--batch', '2', ...WHY)).exit, EXIT.ok)
    const moved = await cli.cli('batch', 'reschedule', '2', '2026-04-01T08:00:00Z', ...WHY)
    assert.deepEqual([moved.exit, /is manual/.test(moved.err)], [EXIT.conflict, true])
    assert.equal((await cli.cli('batch', 'cancel', '2', ...WHY, '--yes')).exit, EXIT.ok)
    const twice = await cli.cli('batch', 'cancel', '2', ...WHY, '--yes')
    assert.deepEqual([twice.exit, /\(REFUSED\)/.test(twice.err)], [EXIT.conflict, true])
    const restarted = await cli.cli('batch', 'retry', '2', '--init', ...WHY)
    assert.equal(restarted.exit, EXIT.conflict)
    const cloned = await cli.json('batch', 'clone', '2', '--members', 'active', ...WHY)
    assert.deepEqual([cloned.batchId, cloned.memberCount], [3, 3])
    const last = cli.file('last.csv', plainCsv('gus@x.example'))
    const dry = await cli.json('batch', 'create', 'plain', last, '--dry-run')
    assert.deepEqual([dry.isDryRun, dry.memberCount], [true, 1])
  })

  it('keeps an audit that can be verified', async () => {
    assert.match(
      (await cli.cli('audit', 'list', '--action', 'batch.cancel')).out,
      /batch\.cancel +batch 2 +\w+ +because/,
    )
    const verdict = await cli.cli('audit', 'verify')
    assert.match(verdict.out, /^chain +ok\n/)
  })

  it('turns automation on and off, shows differences, takes versions out of use', async () => {
    assert.match((await cli.cli('automation', 'status', 'plain')).out, /automation +off/)
    assert.match((await cli.cli('automation', 'enable', 'plain', ...WHY)).out, /automation +on/)
    assert.match((await cli.cli('automation', 'disable', 'plain')).out, /automation +off/)
    const file = cli.file('two.yaml', plain('plain', 'make'))
    const asked = await cli.person({ answers: ['y'] }, 'runbook', 'publish', file)
    assert.match(
      asked.out,
      /1 running batch with 3 active members[\s\S]*Published "plain" as version 2/,
    )
    const lacking = cli.file(
      'three.yaml',
      plain().replace('"{{UserPrincipalName}}"', '"{{Office}}"'),
    )
    assert.match(
      (await cli.cli('runbook', 'publish', lacking, '--dry-run')).err,
      /^warning: batch 3: "Office" has no value for 3 members; steps that use it would fail$/m,
    )
    const diff = await cli.cli('runbook', 'diff', 'plain', '1', '2')
    assert.match(diff.out, /^--- plain version 1\n\+\+\+ plain version 2\n/)
    assert.match(diff.out, /\n-.*name: create.*\n\+.*name: make/)
    assert.equal(
      (await cli.cli('runbook', 'diff', 'plain', '--file', file)).out,
      'No differences.\n',
    )
    for (const wrong of [[], ['1', '2', '--file', file]]) {
      assert.equal((await cli.cli('runbook', 'diff', 'plain', ...wrong)).exit, EXIT.usage)
    }
    assert.match((await cli.cli('runbook', 'delete', 'plain', '2', '--yes')).out, /in use +no/)
    const none = await cli.cli('runbook', 'get', 'plain')
    assert.deepEqual([none.exit, /RUNBOOK_NOT_FOUND/.test(none.err)], [EXIT.notFound, true])
  })
})
