import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EXIT, MatoolkitError } from '../../../src/base/errors/errors.ts'
import { printable } from '../../../src/base/text/printable.ts'
import { addRunbookCommands } from '../../../src/cli/commands/runbook/runbook.ts'
import { globalFlagsLast } from '../../../src/cli/program/global-flags.ts'
import { run } from '../../../src/cli/program/program.ts'
import { tableText } from '../../../src/cli/terminal/table.ts'
import { recordingIo } from '../recording-io.ts'

async function runWith(...args: string[]) {
  const io = recordingIo()
  const exit = await run(args, io, [addRunbookCommands])
  return { exit, out: io.outText(), err: io.errText() }
}

describe('the command line', () => {
  it('answers --version and --help on stdout', async () => {
    assert.match((await runWith('--version')).out, /^\d+\.\d+\.\d+\n$/)
    const help = await runWith('--help')
    assert.equal(help.exit, EXIT.ok)
    assert.match(help.out, /runbook/)
    assert.equal(help.err, '')
  })

  it('has examples in the help of every command', async () => {
    for (const verb of ['validate', 'init']) {
      assert.match((await runWith('runbook', verb, '--help')).out, /Examples?:\n {2}\$ matoolkit/)
    }
  })

  const WRONG: [args: string[], says: RegExp][] = [
    [['runbok'], /Unknown command 'runbok'\. Did you mean runbook\?/],
    [['runbook', 'validate'], /Name a runbook file/],
    [['runbook', 'versions'], /Missing required argument 'name'\./],
    [['runbook', 'validate', 'x', '--outptu', 'json'], /Did you mean --output\?/],
    [['runbook', 'validate', 'x', '--output', 'xml'], /'xml' is invalid.*table, json/],
    [['runbook'], /Name a command\./],
    [[], /Name a command\./],
  ]
  for (const [args, says] of WRONG) {
    it(`"${args.join(' ')}" is wrong usage, said in one sentence`, async () => {
      const { exit, out, err } = await runWith(...args)
      assert.equal(exit, EXIT.usage)
      assert.equal(out, '')
      const last = err.trimEnd().split('\n').at(-1) ?? ''
      assert.match(last, says)
      assert.match(last, /^matoolkit: .* \(USAGE\)$/)
    })
  }

  it('ends with the code and exit code of the error that a command throws', async () => {
    const io = recordingIo()
    const exit = await run(['fail'], io, [
      (program) => {
        program.command('fail').action(() => {
          throw new MatoolkitError('DATABASE_UNREACHABLE', { reason: 'refused\u001b[2J' })
        })
      },
    ])
    assert.equal(exit, EXIT.unavailable)
    assert.match(io.errText(), /^matoolkit: .* refused\\u001b\[2J.* \(DATABASE_UNREACHABLE\)\n$/)
  })

  it('shows an unexpected error as INTERNAL, without a stack', async () => {
    const io = recordingIo()
    const exit = await run(['fail'], io, [
      (program) => {
        program.command('fail').action(() => JSON.parse('{'))
      },
    ])
    assert.equal(exit, EXIT.failed)
    assert.match(io.errText(), /\(INTERNAL\)\n$/)
    assert.equal(io.errText().split('\n').length, 2)
  })
})

describe('the flags of every command', () => {
  const PLACES: [typed: string, same: string][] = [
    ['--output json batch list', 'batch list --output json'],
    ['batch --output=json list --held', 'batch list --held --output=json'],
    ['-o json --debug batch list', 'batch list -o json --debug'],
    ['--profile a hold --batch 7 -- --debug', 'hold --batch 7 --profile a -- --debug'],
    ['batch list --output json', 'batch list --output json'],
    // Not a flag but the value of one.
    ['hold --batch 7 --reason --debug', 'hold --batch 7 --reason --debug'],
    ['--version', '--version'],
    ['--unknown --debug batch', '--unknown --debug batch'],
    ['--output', '--output'],
  ]
  for (const [typed, same] of PLACES) {
    it(`"${typed}" is "${same}"`, () => {
      const args = globalFlagsLast(typed.split(' '))
      assert.equal(args.join(' '), same)
      assert.deepEqual(globalFlagsLast(args), args)
    })
  }

  it('work before the command', async () => {
    const file = 'examples/user-migration.yaml'
    const { exit, out, err } = await runWith('--output', 'json', 'runbook', 'validate', file)
    assert.equal(exit, EXIT.ok, err)
    assert.match(JSON.stringify(JSON.parse(out)), /user-migration/)
  })

  it('leave --version after a command to the command', async () => {
    const { exit, out, err } = await runWith('runbook', 'validate', 'x', '--version')
    assert.equal(exit, EXIT.usage)
    assert.equal(out, '')
    assert.match(err, /Unknown option '--version'/)
  })
})

describe('text for a terminal', () => {
  it('has no control characters', () => {
    assert.equal(
      printable('\u200e\u200f\u061c\u202e\u2066\u2069'),
      '\\u200e\\u200f\\u061c\\u202e\\u2066\\u2069',
    )
    assert.equal(printable('a\u001b[31m\u009b\r\0b\tc'), 'a\\u001b[31m\\u009b\\u000d\\u0000b\tc')
  })

  it('aligns columns', () => {
    assert.equal(
      tableText([
        ['A', 'BB'],
        ['long', 'x'],
        ['', 'y'],
      ]),
      'A     BB\nlong  x\n      y',
    )
  })
})
