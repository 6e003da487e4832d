// `matoolkit runbook plan wave.yaml`: the plan of a file, without a server.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { EXIT } from '../../../../src/base/errors/errors.ts'
import { addRunbookCommands } from '../../../../src/cli/commands/runbook/runbook.ts'
import { run } from '../../../../src/cli/program/program.ts'
import { recordingIo } from '../../recording-io.ts'

const EXAMPLES = join(import.meta.dirname, '../../../../examples')
const folder = mkdtempSync(join(tmpdir(), 'plan-'))
after(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const yaml = readFileSync(join(EXAMPLES, 'first-migration.yaml'), 'utf8')
const wave = file('wave.yaml', yaml)
const HEADER = 'UserPrincipalName,DisplayName,MailNickname,TargetUpn,CutoverTime'
const person = (name: string, time: string) =>
  `${name}@contoso.example,${name},${name},${name}@new.example,${time}`
const FIRST = '2030-03-01T20:00:00Z'
const SECOND = '2030-04-05T20:00:00Z'

async function plan(...args: string[]) {
  // Nothing listens there: a request would fail.
  const io = recordingIo({ now: new Date('2030-03-01T08:00:00Z') })
  const words = ['runbook', 'plan', ...args, '--api-url', 'http://127.0.0.1:9']
  const exit = await run(words, io, [addRunbookCommands])
  return { exit, out: io.outText(), err: io.errText() }
}

describe('runbook plan of a file', () => {
  const members = file(
    'members.csv',
    [
      HEADER,
      person('cleo', SECOND),
      person('ada', FIRST),
      person('ben', FIRST),
      person('old', '2030-01-01T20:00:00Z'),
      person('dora', 'soon'),
      person('eve', FIRST),
      person('Eve', SECOND),
    ].join('\n'),
  )

  it('shows batches, phases with dates, resolved steps and unusable rows', async () => {
    const { exit, out } = await plan(wave, '--members', members)
    assert.equal(exit, EXIT.ok)
    const planned = JSON.parse(out)
    assert.equal(planned.rowCount, 7)
    const lines = planned.batches.map(
      (batch: { startTime: string; memberCount: number; held: string | null }) => [
        batch.startTime,
        batch.memberCount,
        batch.held,
      ],
    )
    assert.deepEqual(lines, [
      [
        '2030-01-01T20:00:00.000Z',
        1,
        'it was found more than a day after its cut-over, 2030-01-01T20:00:00Z',
      ],
      ['2030-03-01T20:00:00.000Z', 2, null],
      ['2030-04-05T20:00:00.000Z', 1, null],
    ])
    const [prepare, cutover] = planned.batches[1].phases
    assert.deepEqual(
      [prepare.name, prepare.dueAt, prepare.isOverdue],
      ['prepare', '2030-02-28T20:00:00.000Z', true],
    )
    assert.deepEqual([cutover.name, cutover.isOverdue], ['cutover', false])
    const [first, second, ...more] = prepare.steps[0].examples
    assert.deepEqual(
      [first.memberKey, first.params.UserPrincipalName, first.missing],
      ['ada@contoso.example', 'ada@new.example', []],
    )
    assert.deepEqual([second.memberKey, more], ['ben@contoso.example', []])
    assert.deepEqual(cutover.steps[0].examples[0].params, {
      UserId: '<TargetId from create-account>',
    })
    const problems = planned.problems.map(({ key, kind }: { key: string; kind: string }) => [
      key,
      kind,
    ])
    assert.deepEqual(problems, [
      ['dora@contoso.example', 'unusable'],
      ['Eve@contoso.example', 'duplicate'],
    ])
    assert.equal(planned.problemCount, 2)
  })

  it('shows tables to people', async () => {
    const { out } = await plan(wave, '--members', members, '-o', 'table')
    assert.match(out, /^first-migration: 4 members in 3 batches\n\nBatches\n/)
    assert.match(out, /prepare +Thu 28 Feb 20:00 UTC +1 +would start at once/)
    assert.match(
      out,
      /Problems\n.*\ndora@contoso\.example +CutoverTime +this row is not used: .*soon/,
    )
  })

  it('plans for a made-up member when there are no people', async () => {
    const { exit, out, err } = await plan(wave, '--start', '2030-03-10T20:00:00Z')
    assert.equal(exit, EXIT.ok)
    const { batches, sample, memberFile } = JSON.parse(out)
    assert.deepEqual(
      [batches, memberFile, sample.startTime],
      [[], null, '2030-03-10T20:00:00.000Z'],
    )
    assert.equal(sample.phases[0].dueAt, '2030-03-09T20:00:00.000Z')
    assert.match(
      err,
      /made-up member: its file "first-migration\.csv" is not in the runbook's folder/,
    )
  })

  it('says when changes wait for a change window, and where the point of no return is', async () => {
    const nights = 'windows: { time_zone: Europe/Berlin, hours: [{ from: "22:00", to: "06:00" }] }'
    const complete =
      '  - { name: finish, worker_id: w1, function: Complete-MigrationUser, params: { Identity: x } }'
    const cutover = '  - name: cutover\n    offset: T-0\n    steps:\n'
    const text = `${yaml.replace(cutover, `${cutover}    ${complete}\n`)}\n${nights}\n`
    const open = await plan(file('nights.yaml', text), '--members', members)
    const [, first] = JSON.parse(open.out).batches
    assert.deepEqual(first.phases[0].window, {
      isOpen: false,
      closesAt: null,
      opensAt: '2030-03-01T21:00:00.000Z',
      timeZone: 'Europe/Berlin',
      freezeReason: null,
    })
    assert.deepEqual(first.phases[1].noReturnSteps, ['finish'])
    const shown = await plan(join(folder, 'nights.yaml'), '--members', members, '-o', 'table')
    assert.match(
      shown.out,
      /changes wait 1h for the change window, which opens Fri 01 Mar 2030 22:00 CET \(Europe\/Berlin\); point of no return: finish/,
    )
    assert.doesNotMatch(
      (await plan(wave, '--members', members, '-o', 'table')).out,
      /window|no return/,
    )
  })

  it('refuses what does not fit', async () => {
    const wrong: [string[], RegExp][] = [
      [[wave, '--batch', '7'], /--batch is for a published runbook/],
      [[wave, '--members', members, '--start', FIRST], /have start times already/],
      [[wave, '--members', file('c.csv', 'Upn\na\n')], /no column "UserPrincipalName"/],
      [[file('bad.yaml', 'name: x\n')], /1 error|errors/],
      [['published', '--members', members], /--members is for a runbook file/],
    ]
    for (const [args, says] of wrong) {
      const { exit, out, err } = await plan(...args)
      assert.match(err, says)
      assert.notEqual(exit, EXIT.ok)
      assert.equal(out, '')
    }
  })
})
