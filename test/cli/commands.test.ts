// Every command by the examples of its help: each can be typed as it stands, and ends as documented without a sign-in, without an API
// and for unknown names.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Command } from 'commander'
import { NOUNS } from '../../src/app/commands/nouns.ts'
import { EXIT } from '../../src/base/errors/errors.ts'
import { visibleCommands } from '../../src/cli/program/program.ts'
import { plain, plainCsv } from '../api/contract/fixtures.ts'
import { ROOT } from '../kit/processes.ts'
import { type Cli, nowhere, openCli, say, setEnv } from './against-api.ts'
import { COMMANDS, flagOf, program } from './every-command.ts'

const NOWHERE = await nowhere()
/** Commands that use the API. */
const CLIENT = COMMANDS.filter(([, command]) => flagOf(command, '--debug'))

const helpOf = (command: Command): string => {
  const parts: string[] = []
  command.configureOutput({ writeOut: (part) => void parts.push(part) }).outputHelp()
  return parts.join('')
}

const examplesOf = (command: Command): string[][] =>
  [...helpOf(command).matchAll(/^ {2}\$ matoolkit (.+)$/gm)].map(([, line]) => wordsOf(line!))

/** Splits an example as a shell would; redirections are dropped. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/ > \S+$/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare!,
  )

describe('the table of nouns', () => {
  it('describes each noun as its own file does', () => {
    const said = program.commands.map((one) => [one.name(), one.description()])
    assert.deepEqual(
      Object.fromEntries(said),
      Object.fromEntries(Object.entries(NOUNS).map(([name, { about }]) => [name, about])),
    )
  })

  it('puts every listed noun, and every verb of a batch, under a heading of its own', () => {
    const batch = program.commands.find((one) => one.name() === 'batch')!
    for (const parent of [program, batch]) {
      const unplaced = visibleCommands(parent).filter((one) => one.helpGroup() === '')
      assert.deepEqual(
        unplaced.map((one) => one.name()),
        [],
        'place it: NOUN_GROUPS in nouns.ts, GROUPS in batch.ts',
      )
    }
  })

  it('lists the daily nouns first in the help, and help itself in the last group', async () => {
    const { out } = await say({}, ['--help'])
    assert.match(out, /\nEvery day:\n(?: {2}.*\n)* {2}batch +manage/)
    assert.match(out, /\nThis command line:\n[\s\S]*\n {2}help \[command\]/)
    assert.ok(out.indexOf('Every day:') < out.indexOf('Start it:'))
    assert.doesNotMatch(out, /\nCommands:/)
    assert.doesNotMatch((await say({}, ['batch', '--help'])).out, /\nCommands:/)
  })

  it('loads only the command line itself for --version and --help', () => {
    const hook = join(import.meta.dirname, '../fixtures/loaded-modules.mjs')
    const args = ['--import', hook, 'src/main.ts', '--version']
    const { stderr, stdout } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
    // The tables of errors count as one.
    const ours = [
      ...new Set(
        stderr
          .match(/src\/\S+/g)!
          .map((path) => path.replace(/^src\/base\/errors\/.*/, 'src/base/errors')),
      ),
    ].sort()
    assert.deepEqual(ours, [
      'src/app/commands/nouns.ts',
      // A crash is redacted from the first moment, so what redacts it is loaded too.
      'src/app/roles/crash.ts',
      'src/base/errors',
      'src/base/log/redact.ts',
      'src/base/run/clock.ts',
      // Looks whether the environment names a proxy.
      'src/base/run/proxy.ts',
      'src/base/text/printable.ts',
      'src/base/text/zoned-time.ts',
      'src/cli/program/earlier-names.ts',
      'src/cli/program/global-flags.ts',
      'src/cli/program/program.ts',
      'src/cli/terminal/io.ts',
      'src/main.ts',
      'src/worker/jobs/owning-job.ts',
    ])
    const packages = new Set(stderr.match(/node_modules\/[\w@-]+/g))
    assert.deepEqual([...packages], ['node_modules/commander'])
  })
})

describe('every command', () => {
  for (const [name, command] of COMMANDS) {
    it(`${name} has a short description and examples`, () => {
      assert.match(command.description(), /^[a-z].*[^.]$/)
      assert.ok(command.description().split(' ').length <= 8, command.description())
      assert.match(helpOf(command), /Examples?:\n {2}\$ \S/)
    })
  }
})

describe('every command of a client', () => {
  let cli: Cli
  const folderBefore = process.cwd()
  before(async () => {
    cli = await openCli()
    // The files that the examples name.
    process.chdir(cli.folder)
    mkdirSync('examples')
    for (const file of [
      'wave.yaml',
      'new.yaml',
      'user-migration.yaml',
      'examples/user-migration.yaml',
    ]) {
      writeFileSync(file, plain('user-migration'))
    }
    for (const file of ['pilot.csv', 'latecomers.csv']) writeFileSync(file, plainCsv('a@x.example'))
    writeFileSync('wave.csv', 'UserPrincipalName,When\na@x.example,2030-01-01T00:00:00Z\n')
  })
  after(async () => {
    process.chdir(folderBefore)
    await cli.close()
  })

  for (const [name, command] of CLIENT.filter(([words]) => !/^(auth|doctor)/.test(words))) {
    const [example] = examplesOf(command)
    it(`${name} reports a missing sign-in`, async () => {
      setEnv({ MATOOLKIT_TOKEN: 'nobody' })
      // Wrong tokens are counted by the minute.
      await cli.api.world.clock.advance(60_000)
      const said = await say({}, [...example!, ...unasked(command)])
      assert.equal(said.exit, EXIT.notSignedIn, said.err)
      assert.match(said.err, /\(TOKEN_REFUSED\)\n {2}Run: matoolkit auth login\n$/)
      assert.equal(said.out, '')
      setEnv({ MATOOLKIT_TOKEN: cli.api.token })
    })

    it(`${name} reports an unreachable API`, async () => {
      const said = await say({}, [...example!, ...unasked(command), '--api-url', NOWHERE])
      assert.equal(said.exit, EXIT.unavailable, said.err)
      const sentence = `matoolkit: The API at ${NOWHERE} does not answer: connection refused.`
      assert.ok(said.err.startsWith(sentence), said.err)
    })

    it(`${name} accepts its examples`, async () => {
      for (const words of examplesOf(command)) {
        // It ends with Ctrl-C only.
        if (words.includes('--watch')) continue
        const said = await say({}, [...words, ...unasked(command)])
        assert.notEqual(said.exit, EXIT.usage, `${words.join(' ')}: ${said.err}`)
        assert.doesNotMatch(said.err, /INTERNAL/, words.join(' '))
      }
    })
  }
})

/** Examples omit answers to questions. */
const unasked = (command: Command): string[] => [
  ...(flagOf(command, '--yes') ? ['--yes'] : []),
  ...(flagOf(command, '--timeout') ? ['--timeout', '1s'] : []),
]
