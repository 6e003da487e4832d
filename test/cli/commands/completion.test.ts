// Completion in real shells, where they are installed; bash always is.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Command } from 'commander'
import { NOUNS } from '../../../src/app/commands/nouns.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { completionNodes } from '../../../src/cli/commands/completion.ts'
import { COMPLETION_SHELLS, type Shell } from '../../../src/cli/commands/completion-shells.ts'
import { say } from '../against-api.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-completion-'))
after(() => rmSync(folder, { recursive: true }))

/** Stands for the program while completing: names of every kind. */
writeFileSync(
  join(folder, 'matoolkit'),
  `#!/bin/sh
echo "asked $@" >&2
case "$2" in
  batch) echo 17; echo 18;;
  batch,member) case "$*" in *' 7 '* | *' 7') echo ada@contoso.example; echo bob@contoso.example;; *) echo 17;; esac;;
  *) echo "some-$2";;
esac
`,
  { mode: 0o755 },
)

const hasShell = (shell: string): boolean =>
  spawnSync(shell, ['-c', 'true'], { stdio: 'ignore' }).status === 0

/** Runs a script in a shell and returns its lines. */
function linesOf(shell: Shell, text: string): string[] {
  const file = join(folder, `run.${shell}`)
  writeFileSync(file, text)
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
  const { stdout, stderr, status } = spawnSync(shell, [file], {
    encoding: 'utf8',
    cwd: folder,
    env,
  })
  assert.equal(status, 0, stderr)
  assert.equal(stderr, '')
  return stdout.split('\n').filter(Boolean)
}

/** Bash splits words at "@", and replaces only what follows it. */
const atSigns = (word: string): string[] => word.split(/(?<=@)|(?=@)/)
const keptOf = (word: string): string => word.slice(0, word.lastIndexOf('@') + 1)

/** Completes the last word as each shell would. */
const ASK: Readonly<Record<Shell, (script: string, words: readonly string[]) => string[]>> = {
  bash: (script, words) =>
    linesOf(
      'bash',
      `${script}
COMP_LINE='${words.join(' ')}'
COMP_POINT=\${#COMP_LINE}
COMP_WORDBREAKS=$' \\t\\n"@><=;|&(:'
COMP_WORDS=(${words
        .flatMap(atSigns)
        .map((word) => `'${word}'`)
        .join(' ')})
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_matoolkit
printf '%s\\n' "\${COMPREPLY[@]}"
`,
    ).map((word) => keptOf(words.at(-1)!) + word),
  // zsh completes only on a terminal; here the two functions that would show something say it instead.
  zsh: (script, words) =>
    linesOf(
      'zsh',
      `compdef() { : }
_describe() { local name=$@[-1]; print -l -- "\${(@)\${(P)name}%%:*}" }
compadd() { shift; print -l -- "$@" }
_files() { : }
${script}
words=(${words.map((word) => `'${word}'`).join(' ')})
CURRENT=${words.length}
_matoolkit
`,
    ).filter((word) => word.startsWith(words.at(-1)!)),
  fish: (script, words) =>
    linesOf(
      'fish',
      `function fish_prompt; end
${script}
complete -C '${words.join(' ')}'
`,
    ).map((line) => line.split('\t')[0]!),
}

const LISTED_NOUNS = Object.keys(NOUNS).filter((name) => !NOUNS[name]!.isHidden)

/** The typed words, and what must and must not be offered. */
const ASKED: readonly [typed: string, offered: readonly string[], not: readonly string[]][] = [
  ['matoolkit ', LISTED_NOUNS, ['list', 'complete']],
  ['matoolkit ba', ['batch'], ['auth']],
  ['matoolkit batch ', ['list', 'watch', 'export', 'advance'], ['batch', 'login']],
  ['matoolkit batch re', ['reschedule', 'retry'], ['list']],
  ['matoolkit batch list --', ['--runbook', '--status', '--output', '--help'], ['--reason']],
  ['matoolkit batch list --output ', ['table', 'json', 'yaml', 'csv'], ['--help']],
  ['matoolkit batch list -o js', ['json'], ['table']],
  ['matoolkit batch export 7 --format ', ['html', 'csv', 'json'], ['table']],
  ['matoolkit batch list --runbook member --st', ['--status'], ['--search']],
  ['matoolkit batch list --status ', ['active', 'completed'], ['--help']],
  ['matoolkit batch list --runbook ', ['some-runbook'], ['17']],
  ['matoolkit batch get ', ['17', '18'], ['some-runbook', 'list']],
  ['matoolkit runbook get so', ['some-runbook'], ['17']],
  ['matoolkit automation tick ', ['some-runbook'], ['enable']],
  ['matoolkit function list ', ['some-function'], ['some-runbook']],
  ['matoolkit batch remove-member ', ['17'], ['ada@contoso.example']],
  ['matoolkit batch remove-member 7 ', ['ada@contoso.example', 'bob@contoso.example'], ['17']],
  ['matoolkit batch remove-member 7 ada@con', ['ada@contoso.example'], ['bob@contoso.example']],
  ['matoolkit batch remove-member 7 ada@', ['ada@contoso.example'], ['bob@contoso.example']],
  ['matoolkit hold --member ', ['17'], ['some-member']],
  ['matoolkit hold --member 7 ', ['some-member'], ['17']],
  ['matoolkit batch members 7 --phase ', ['some-phase'], ['17', '--step']],
  ['matoolkit batch retry 7 --failed-step so', ['some-step'], ['some-phase']],
  ['matoolkit batch move-member 7 ada --to ', ['17', '18'], ['some-member']],
  ['matoolkit review list --to ', [], ['17']],
  ['matoolkit status --profile ', ['some-profile'], []],
  ['matoolkit status --instance ', ['some-instance'], []],
  ['matoolkit config use ', ['some-profile'], []],
  ['matoolkit completion ', ['bash', 'zsh', 'fish'], ['batch']],
]

describe('completion', () => {
  const scripts = new Map<string, string>()
  before(async () => {
    for (const shell of Object.keys(COMPLETION_SHELLS)) {
      const { exit, out, err } = await say({}, ['completion', shell])
      assert.equal(exit, EXIT.ok, err)
      scripts.set(shell, out)
    }
  })

  for (const shell of Object.keys(COMPLETION_SHELLS) as Shell[]) {
    describe(`of ${shell}`, { skip: hasShell(shell) ? false : `${shell} is not here` }, () => {
      for (const [typed, offered, not] of ASKED) {
        it(`offers after "${typed}" what may follow`, () => {
          const found = ASK[shell](scripts.get(shell)!, typed.split(' '))
          assert.deepEqual(
            offered.filter((word) => !found.includes(word)),
            [],
            found.join(' '),
          )
          assert.deepEqual(
            not.filter((word) => found.includes(word)),
            [],
          )
        })
      }
    })
  }

  it('knows every command, flag and value in every shell', () => {
    const program = new Command('program').option(
      '-x, --extra <how>',
      'it\'s `$(odd)`: \\ "really"',
    )
    program.command('noun').description('a noun').command('verb').description('its verb')
    const places = completionNodes(program)
    assert.deepEqual(
      places.map(({ path }) => path.join(' ')),
      ['', 'noun', 'noun verb'],
    )
    for (const [shell, write] of Object.entries(COMPLETION_SHELLS)) {
      const script = write(places)
      for (const word of ['noun', 'verb', 'extra']) assert.ok(script.includes(word), shell)
      if (hasShell(shell)) {
        const file = join(folder, `odd.${shell}`)
        writeFileSync(file, script)
        const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
        assert.deepEqual([status, stderr], [0, ''], shell)
      }
    }
  })

  it('refuses an unknown shell', async () => {
    const { exit, err } = await say({}, ['completion', 'csh'])
    assert.equal(exit, EXIT.usage)
    assert.match(err, /bash, zsh, fish/)
  })
})
