// docs/reference/commands.md agrees with the program, and docs/tutorial.md can be followed to its end.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { expectedText } from '../../../scripts/docs.ts'
import { CLI_DOCUMENTS } from '../../../scripts/docs-cli.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { ROOT, start } from '../../kit/processes.ts'

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

describe('docs/reference/commands.md', () => {
  for (const document of CLI_DOCUMENTS) {
    it(`agrees with the program: ${document.section}`, () => {
      const text = textOf(document.file)
      const advice = 'run: npm run docs'
      assert.equal(text, expectedText(document, text), `${document.file} is out of date; ${advice}`)
    })
  }

  it('names every exit code', () => {
    const named = [...textOf('docs/reference/commands.md').matchAll(/^\| (\d+) \|/gm)].map(
      ([, code]) => Number(code),
    )
    for (const code of Object.values(EXIT)) assert.ok(named.includes(code), `exit code ${code}`)
  })
})

interface TutorialCommand {
  readonly args: readonly string[]
  /** The lines below the command on the page; more may follow. */
  readonly shows: string
}

/** The commands of the page in order, each with its expected output. */
function tutorialCommands(): TutorialCommand[] {
  const blocks = [...textOf('docs/tutorial.md').matchAll(/```console\n([\s\S]*?)```/g)]
  return blocks.flatMap(([, block]) =>
    block!
      .split(/^\$ /m)
      .slice(1)
      .map((text) => {
        const [line = '', ...shows] = text.split('\n')
        const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
          ([, quoted, bare]) => quoted ?? bare!,
        )
        assert.equal(words[0], 'matoolkit')
        return { args: words.slice(1), shows: shows.join('\n').trim() }
      }),
  )
}

/** The id of the batch on the page. */
const BATCH_ON_PAGE = '2'

describe('the program in a clone', () => {
  const version = /^\d+\.\d+\.\d+\n$/
  it('runs by npx, without the network', () => {
    const args = ['--offline', '--loglevel=error', 'matoolkit', '--version']
    const { stdout, stderr } = spawnSync('npx', args, { cwd: ROOT, encoding: 'utf8' })
    assert.match(stdout, version, stderr)
  })

  it('runs by its name after the line of the tutorial', () => {
    const [, line] = /```sh\n(export PATH=.*)\n```/.exec(textOf('docs/tutorial.md'))!
    const args = ['-c', `${line!} && matoolkit --version`]
    const { stdout, stderr } = spawnSync('bash', args, { cwd: ROOT, encoding: 'utf8' })
    assert.match(stdout, version, stderr)
  })
})

describe('docs/tutorial.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-tutorial-'))
  after(() => rmSync(folder, { recursive: true }))

  it('is followed to its end by a process for each command', async () => {
    cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true })
    const [first, ...commands] = tutorialCommands()
    assert.deepEqual(first!.args, ['up', '--sandbox'])
    // A reader of the page sees a terminal; here the output goes into pipes.
    const env = { MATOOLKIT_HOME: join(folder, 'home'), MATOOLKIT_OUTPUT: 'table' }
    let code: number | null
    const up = start(first!.args, { ...env, MATOOLKIT_API_PORT: '0' }, folder)
    try {
      await up.saying(/Press Ctrl-C to stop/)
      let batch = BATCH_ON_PAGE
      for (const { args, shows } of commands) {
        const typed = args.map((arg) => (arg === BATCH_ON_PAGE ? batch : arg))
        const { out, err, ...answered } = await start(typed, env, folder).ended
        assert.equal(answered.code, EXIT.ok, `${args.join(' ')}\n${out}\n${err}`)
        // As the page asks its reader to: numbers of batches may have gaps.
        if (args[1] === 'create') batch = /^batch +(\d+)$/m.exec(out)?.[1] ?? batch
        const expected = shows.replace(/^(batch +)\d+$/m, `$1${batch}`)
        assert.ok(out.includes(expected), `${args.join(' ')} says:\n${out}\nand not:\n${expected}`)
      }
    } finally {
      up.kill('SIGINT')
      // Not asserted here: that would hide why the page could not be followed.
      code = (await up.ended).code
    }
    assert.equal(code, EXIT.ok)
  })
})
