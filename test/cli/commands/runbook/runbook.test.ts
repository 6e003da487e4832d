import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../../src/base/errors/errors.ts'
import { addRunbookCommands } from '../../../../src/cli/commands/runbook/runbook.ts'
import { run } from '../../../../src/cli/program/program.ts'
import { setEnv } from '../../against-api.ts'
import { recordingIo } from '../../recording-io.ts'

const root = join(import.meta.dirname, '../../../..')
const sample = join(root, 'test/fixtures/sample-migration.yaml')
const SAMPLE = readFileSync(sample, 'utf8')

const lineOf = (piece: string) => SAMPLE.slice(0, SAMPLE.indexOf(piece)).split('\n').length

let folder = ''
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'matoolkit-cli-'))
  // No API of this machine is asked.
  setEnv({ MATOOLKIT_HOME: join(folder, 'home') })
})
after(() => {
  setEnv({ MATOOLKIT_HOME: undefined })
  rmSync(folder, { recursive: true })
})

function file(name: string, contents: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, contents)
  return path
}

async function validate(args: string[], io = recordingIo()) {
  const exit = await run(['runbook', 'validate', ...args], io, [addRunbookCommands])
  return { exit, out: io.outText(), err: io.errText() }
}

describe('runbook validate', () => {
  it('says that a good file is valid', async () => {
    const { exit, out, err } = await validate([sample])
    assert.deepEqual([exit, out, err], [EXIT.ok, `${sample}: valid\n`, ''])
  })

  it('gives each problem a line with place, severity, code, text and what to do', async () => {
    const path = file('bad.yaml', SAMPLE.replace('T-0', 'T-5').replace('Name: "{{U', 'Name: "{{xU'))
    const { exit, out } = await validate([path])
    assert.equal(exit, EXIT.failed)
    const [first = '', second = '', third] = out.split('\n')
    const place = (piece: string) => `${path}:${lineOf(piece)}`
    const expected = [
      `${place('Name: "{{U')}:30: error UNKNOWN_VARIABLE \`"{{xUserPrincipalName}}"\` Nothing sets`,
      `${place('offset: T-0')}:13: error BAD_OFFSET \`T-5\` "T-5" is not an offset. Write T-0`,
    ]
    assert.equal(first.slice(0, expected[0]?.length), expected[0])
    assert.match(first, /Did you mean "UserPrincipalName"\?$/)
    assert.equal(second.slice(0, expected[1]?.length), expected[1])
    assert.equal(third, `${path}: 2 errors, 0 warnings`)
  })

  it('lets warnings pass, and counts them apart', async () => {
    const path = file(
      'warned.yaml',
      SAMPLE.replace('AttributeName: department', 'AttributeName: yes'),
    )
    const { exit, out } = await validate([path])
    assert.equal(exit, EXIT.ok)
    assert.match(out, /warning NOT_A_BOOLEAN `yes` /)
    assert.match(out, /warned\.yaml: valid, 1 warning\n$/)
  })

  it('takes a folder, shows what --write would convert, and writes it once a person agrees', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'matoolkit-earlier-'))
    const earlier = readFileSync(sample, 'utf8').replace(/^name: .*/m, 'name: Our first wave')
    writeFileSync(join(folder, 'wave.yaml'), earlier)
    mkdirSync(join(folder, 'more', '.git'), { recursive: true })
    writeFileSync(join(folder, 'more', 'same.yml'), readFileSync(sample))
    writeFileSync(join(folder, 'more', '.git', 'other.yaml'), 'not: ours')
    const seen = await validate([folder, '--offline'])
    assert.match(
      seen.out,
      /same\.yml +valid\n.*wave\.yaml +1 error, 0 warnings; --write converts 1\n$/,
    )

    const nobody = await validate([folder, '--offline', '--write'])
    assert.match(nobody.err, /\n-name: Our first wave\n\+name: Our-first-wave\n/)
    assert.match(
      nobody.err,
      /In a script: matoolkit runbook validate .* --offline --write --yes\n$/,
    )
    assert.equal(readFileSync(join(folder, 'wave.yaml'), 'utf8'), earlier)

    const yes = await validate([folder, '--offline', '--write'], recordingIo({ answers: ['y'] }))
    assert.equal(yes.exit, EXIT.ok, yes.err)
    assert.match(yes.out, /wave\.yaml +valid\n$/)
    assert.match(readFileSync(join(folder, 'wave.yaml'), 'utf8'), /^name: Our-first-wave$/m)
    assert.equal(
      readFileSync(join(folder, 'more', 'same.yml'), 'utf8'),
      readFileSync(sample, 'utf8'),
    )
    const empty = await validate([join(folder, 'more', '.git', 'none')])
    assert.match(empty.err, /FILE_UNREADABLE/)
    rmSync(folder, { recursive: true })
  })

  it('takes several files and ends with a line per file', async () => {
    const path = file('one-bad.yaml', SAMPLE.replace('name: sample', 'name: -'))
    const { exit, out } = await validate([sample, path])
    assert.equal(exit, EXIT.failed)
    assert.match(
      out,
      /FILE +RESULT\n.*sample-migration\.yaml +valid\n.*one-bad\.yaml +1 error, 0 warnings; --write converts 1\n$/,
    )
  })

  it('answers as JSON', async () => {
    const path = file('json.yaml', SAMPLE.replace('T-0', 'T-5'))
    const { exit, out } = await validate([path, '--output', 'json'])
    const answer = JSON.parse(out)
    assert.equal(exit, EXIT.failed)
    assert.equal(answer.valid, false)
    const [{ problems, ...report }] = answer.files
    const none = { conversions: [], ignored: [] }
    assert.deepEqual(report, { file: path, valid: false, errors: 1, warnings: 0, ...none })
    assert.deepEqual(Object.keys(problems[0]).sort(), [
      'code',
      'column',
      'line',
      'message',
      'path',
      'severity',
      'text',
    ])
    assert.equal(problems[0].path, 'phases[1].offset')
  })

  it('warns by the migration rules, names their page, and answers as SARIF', async () => {
    const REMOVAL = 'on_member_removed:\n'
    const step = (name: string) =>
      `  - {name: ${name}, worker_id: w, function: Remove-EntraUser, params: {UserId: "{{UserPrincipalName}}"}}\n`
    const ignore = '  # matoolkit-ignore REMOVAL_DELETES: the pilot has no data\n'
    const deleting = SAMPLE.replace(REMOVAL, `${REMOVAL}${step('a')}${ignore}${step('b')}`)
    const path = file('lint.yaml', deleting)
    const text = await validate([path])
    assert.equal(text.exit, EXIT.ok)
    assert.match(text.out, /warning REMOVAL_DELETES .* See docs\/runbook\.md#removal_deletes\.\n/)
    assert.match(text.out, /lint\.yaml: valid, 1 warning\n$/)

    const { exit, out } = await validate([path, '--output', 'sarif'])
    const { version, runs } = JSON.parse(out)
    assert.deepEqual([exit, version, runs.length], [EXIT.ok, '2.1.0', 1])
    const [{ tool, results }] = runs
    assert.deepEqual(
      tool.driver.rules.map(({ id }: { id: string }) => id),
      ['REMOVAL_DELETES'],
    )
    assert.match(tool.driver.rules[0].help.text, /wrong filter or join/)
    assert.equal(results.length, 2)
    const [shown, suppressed] = results
    assert.equal(shown.ruleId, 'REMOVAL_DELETES')
    assert.equal(shown.level, 'warning')
    assert.equal(shown.suppressions, undefined)
    assert.ok(shown.locations[0].physicalLocation.region.startLine > 1)
    assert.match(shown.locations[0].physicalLocation.artifactLocation.uri, /lint\.yaml$/)
    assert.deepEqual(suppressed.suppressions, [
      { kind: 'inSource', justification: 'the pilot has no data' },
    ])
  })

  it('gives CSV and YAML too', async () => {
    const path = file('csv.yaml', SAMPLE.replace('T-0', 'T-5'))
    const csv = await validate([path, '--output', 'csv'])
    assert.match(csv.out, /^FILE,LINE,COLUMN,SEVERITY,CODE,MESSAGE\r\n.*csv\.yaml,\d+,\d+,error,/)
    const yaml = await validate([path, '-o', 'yaml'])
    assert.match(yaml.out, /^valid: false\napi: null\nfiles:\n/)
  })

  it('checks variables against the columns of a member file', async () => {
    const open = file('open.yaml', SAMPLE.replace(/ {2}columns:.*\n/, ''))
    const good = file(
      'good.csv',
      '\uFEFFUserPrincipalName,"DisplayName",Department,CutoverTime\r\na,b,c,d\r\n',
    )
    const bad = file('bad.csv', 'UserPrincipalName,Name,Department,CutoverTime\n')
    assert.equal((await validate([open, '--members', good])).exit, EXIT.ok)
    const { exit, out } = await validate([open, '--members', bad])
    assert.equal(exit, EXIT.failed)
    assert.match(out, /error UNKNOWN_VARIABLE `"\{\{DisplayName\}\}"`/)
  })

  it('is coloured on a terminal', async () => {
    const path = file('colour.yaml', SAMPLE.replace('T-0', 'T-5'))
    const { out } = await validate([path], recordingIo({ colour: true }))
    assert.match(out, /<bold>.*:\d+:13:<\/bold> <red>error<\/red> BAD_OFFSET/)
  })

  it('prints no control characters from a file', async () => {
    const path = file('escape.yaml', SAMPLE.replace('name: sample-migration', 'name: "\\e[2J"'))
    const { out } = await validate([path])
    assert.match(out, /BAD_NAME/)
    assert.ok(!out.includes('\u001b'))
  })

  it('reads no more of a huge file than it must', async () => {
    const path = file('huge.yaml', Buffer.alloc(3_000_000, '#'))
    const { exit, out } = await validate([path])
    assert.equal(exit, EXIT.failed)
    assert.match(out, /:1:1: error TOO_LARGE /)
  })

  const UNREADABLE: [title: string, args: () => string[], says: RegExp][] = [
    [
      'a missing file',
      () => ['nowhere.yaml'],
      /Cannot read the file "nowhere\.yaml": no such file/,
    ],
    [
      'a folder without runbooks',
      () => [mkdtempSync(join(folder, 'none-'))],
      /holds no YAML file.*USAGE/,
    ],
    ['an empty member file', () => [sample, '--members', file('0.csv', '')], /it is empty/],
    [
      'a column twice',
      () => [sample, '--members', file('2.csv', 'A,a\n')],
      /column "a" appears twice/,
    ],
    [
      'a column without name',
      () => [sample, '--members', file('n.csv', 'A,\n')],
      /column 2 has no name/,
    ],
    ['an open quote', () => [sample, '--members', file('q.csv', '"A,b\n')], /MEMBER_FILE_INVALID/],
    [
      'UTF-16',
      () => [sample, '--members', file('u.csv', Buffer.from('\uFEFFA', 'utf16le'))],
      /it is in UTF-16, .*save it as UTF-8/,
    ],
    [
      'Windows-1252',
      () => [sample, '--members', file('w.csv', Buffer.from('A,Größe\n', 'latin1'))],
      /it is not UTF-8: row 1, column 2 reads "Größe" in Windows-1252/,
    ],
    [
      'semicolons',
      () => [sample, '--members', file('s.csv', 'A;B\n')],
      /it separates columns with semicolons; use commas/,
    ],
  ]
  for (const [title, args, says] of UNREADABLE) {
    it(`${title} is wrong usage`, async () => {
      const { exit, out, err } = await validate(args())
      assert.equal(exit, EXIT.usage)
      assert.equal(out, '')
      assert.match(err, says)
      assert.equal(err.trimEnd().split('\n').length, 1)
    })
  }
})

describe('runbook schema', () => {
  it('prints the committed schema', async () => {
    const io = recordingIo()
    assert.equal(await run(['runbook', 'validate', '--schema'], io, [addRunbookCommands]), EXIT.ok)
    assert.equal(io.outText(), readFileSync(join(root, 'docs/runbook.schema.json'), 'utf8'))
  })
})

describe('bin/matoolkit, from another folder', () => {
  const matoolkit = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'bin/matoolkit'), ...args], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, FORCE_COLOR: undefined, NO_COLOR: '1' },
    })

  it('finds files from where it is called, and ends with the right code', () => {
    file('here.yaml', SAMPLE)
    file('broken.yaml', 'name: {{x}}\n')
    const good = matoolkit('runbook', 'validate', 'here.yaml')
    assert.deepEqual([good.status, good.stdout, good.stderr], [0, 'here.yaml: valid\n', ''])
    const bad = matoolkit('runbook', 'validate', 'broken.yaml')
    assert.equal(bad.status, 1)
    assert.match(bad.stdout, /^broken\.yaml:1:7: error TEMPLATE_NOT_QUOTED `\{\{x\}\}` /)
    const wrong = matoolkit('runbook', 'validate')
    assert.deepEqual([wrong.status, wrong.stdout], [2, ''])
  })

  it('writes a long answer to a pipe completely', () => {
    const { status, stdout } = matoolkit('runbook', 'validate', '--schema')
    assert.equal(status, 0)
    assert.equal(JSON.parse(stdout).title, 'matoolkit runbook')
  })
})
