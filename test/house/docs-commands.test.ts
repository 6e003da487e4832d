// The commands that documents and the program's own sentences tell people to type exist, with their subcommands and flags. At night
// nobody should find out that one does not.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { Command } from 'commander'
import { allCommands } from '../../src/app/commands/nouns.ts'
import { processIo } from '../../src/cli/terminal/io.ts'
import { M365_CATALOGUE } from '../../src/m365/catalogue.ts'
import { M365_STARTER } from '../../src/m365/starter.ts'
import { ROOT } from '../kit/processes.ts'

/** Histories and generated pages: the one names what was, the other comes from the program. */
const LEFT_OUT = [
  'CHANGELOG.md',
  'docs/reference/commands.md',
  'docs/coming-from-the-earlier-system.md',
]
const FENCED = /^```(\w*)\n([\s\S]*?)^```$/gm
const INLINE = /`((?:npx )?matoolkit [^`]+)`/g

/** The commands that a document shows, in blocks of code and in sentences. */
function commandsIn(text: string): string[] {
  const blocks = [...text.matchAll(FENCED)].flatMap(([, language, block]) =>
    (['', 'sh'].includes(language!) ? block! : '')
      .replaceAll('\\\n', ' ')
      .split('\n')
      .flatMap((line) => /(?:^|\s|\()(?:npx )?(matoolkit .*)/.exec(line)?.[1] ?? []),
  )
  const sentences = text.replaceAll(FENCED, '').replaceAll(/\s*\n\s*/g, ' ')
  const inline = [...sentences.matchAll(INLINE)].map(([, command]) => command!.replace('npx ', ''))
  return [...blocks.filter((line) => /^matoolkit [a-z]/.test(line)), ...inline]
}

const COMMENT = /^\s*(?:\/\/|\/?\*).*$/gm
const QUOTED = /["'`](matoolkit [a-z][^"'`\n]*)["'`]/g

/** A label, a line of several, and no command. */
const LABEL = /:(?: |$)|\\n/

/** Made by the function that makes them. */
const BUILT = /\bcommandLine`([^`]*)`/g

/** The commands that a source file has in its texts, in quotes or built. A value that is filled in counts as a word. */
const commandsInSource = (source: string): string[] =>
  [
    ...source
      .replaceAll(COMMENT, '')
      .replaceAll(/\$\{[^{}`]*\}/g, '<value>')
      .replaceAll(BUILT, '`matoolkit $1`')
      .matchAll(QUOTED),
  ].flatMap(([, command]) => (LABEL.test(command!) ? [] : [command!]))

/** What is wrong with the command; null if nothing is. Words after the subcommand are arguments. */
function whyUnknown(program: Command, command: string): string | null {
  const words = command
    .replace(/['’]|\s[|>;#&].*$|;.*$|…/g, '')
    .replace(/ {2,}.*$/, '')
    .trim()
    .split(/\s+/)
    .slice(1)
  let at = program
  while (words.length > 0) {
    const next = at.commands.find((one) => [one.name(), ...one.aliases()].includes(words[0]!))
    if (!next) break
    at = next
    words.shift()
  }
  const [word = ''] = words
  if (at.commands.length > 0 && /^[a-z]/.test(word) && at.registeredArguments.length === 0)
    return `${at.name()} has no ${word}`
  const flags = words.flatMap((one) => /^--[a-z][a-z-]*/.exec(one)?.[0] ?? [])
  const known = new Set([...at.options, ...program.options].map(({ long }) => long))
  const unknown = flags.filter(
    (flag) => !known.has(flag) && !['--help', '--version'].includes(flag),
  )
  return unknown.length > 0 ? `${at.name()} has no ${unknown.join(', ')}` : null
}

const program = new Command('matoolkit')
before(async () => {
  const io = processIo({
    packagedFunctions: async () => M365_CATALOGUE,
    runbookStarter: async () => M365_STARTER,
  })
  for (const add of await allCommands()) add(program, io)
})

const wrongAmong = (commands: readonly string[]): string[] =>
  commands.flatMap((command) => {
    const why = whyUnknown(program, command)
    return why === null ? [] : [`${command}: ${why}`]
  })

describe('commands in documents', () => {
  for (const file of globSync('{*.md,docs/**/*.md,infra/**/*.md}', { cwd: ROOT }).toSorted()) {
    if (LEFT_OUT.includes(file)) continue
    it(`exist: ${file}`, () => {
      const commands = commandsIn(readFileSync(join(ROOT, file), 'utf8'))
      assert.deepEqual(wrongAmong(commands), [])
    })
  }

  it('are found and judged', () => {
    const text =
      'Run `matoolkit dead-letter list`.\n\n```sh\nX=1 matoolkit batch get 7 --nothing | cat\n$ matoolkit status\n```\n'
    const found = commandsIn(text)
    assert.equal(found.length, 3)
    assert.deepEqual(
      found.map((command) => whyUnknown(program, command) !== null),
      [true, false, true],
    )
  })
})

describe('commands in notifications, errors and hints', () => {
  it('exist', () => {
    const found = globSync('{src,dashboard/src}/**/*.{ts,tsx}', { cwd: ROOT }).flatMap((file) =>
      commandsInSource(readFileSync(join(ROOT, file), 'utf8')),
    )
    assert.ok(found.length > 100, `only ${found.length} were found`)
    assert.deepEqual(wrongAmong(found), [])
  })

  it('are found and judged', () => {
    const source =
      '// `matoolkit nonsense`\nconst command = `matoolkit batch show 7`\nsay(`See "matoolkit hold list".`)\n'
    const built = `say(commandLine\`batch get \${id}\`)`
    const found = commandsInSource(source)
    assert.deepEqual(found, ['matoolkit batch show 7', 'matoolkit hold list'])
    assert.deepEqual(commandsInSource(built), ['matoolkit batch get <value>'])
    assert.deepEqual(wrongAmong(found), ['matoolkit batch show 7: batch has no show'])
  })
})
