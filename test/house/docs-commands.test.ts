// The commands that documents and the program's own sentences tell people to type exist, with their subcommands and flags. At night
// nobody should find out that one does not.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { Command, type Option } from 'commander'
import { allCommands } from '../../src/app/commands/nouns.ts'
import { processIo } from '../../src/cli/terminal/io.ts'
import { M365_CATALOGUE } from '../../src/m365/catalogue.ts'
import { M365_STARTER } from '../../src/m365/starter.ts'
import { ROOT } from '../kit/processes.ts'

/** They name what was. */
const LEFT_OUT = ['CHANGELOG.md', 'docs/coming-from-the-earlier-system.md']
const FENCED = /^```(\w*)\n([\s\S]*?)^```$/gm
const INLINE = /`((?:npx )?matoolkit [^`]+)`/g

/** The commands that a document shows: whole ones in blocks of code, and those that sentences name. */
function commandsIn(text: string): { readonly typed: string[]; readonly named: string[] } {
  const blocks = [...text.matchAll(FENCED)].flatMap(([, language, block]) =>
    (['', 'sh', 'console'].includes(language!) ? block! : '')
      .replaceAll('\\\n', ' ')
      .split('\n')
      .filter((line) => language !== 'console' || line.startsWith('$ '))
      .flatMap((line) => /(?:^|\s|\()(?:npx )?(matoolkit .*)/.exec(line)?.[1] ?? []),
  )
  const sentences = text.replaceAll(FENCED, '').replaceAll(/\s*\n\s*/g, ' ')
  const inline = [...sentences.matchAll(INLINE)].map(([, command]) => command!.replace('npx ', ''))
  return { typed: blocks.filter((line) => /^matoolkit [a-z]/.test(line)), named: inline }
}

const COMMENT = /^\s*(?:\/\/|\/?\*).*$/gm
const QUOTED = /["'`](matoolkit [a-z][^"'`\n]*)["'`]/g

/** A label, a line of several, and no command. */
const LABEL = /:(?: |$)|\\n/

/** Made by the function that makes them. */
const BUILT = /\bcommandLine`([^`]*)`/g

/** `No runbooks. Publish one: matoolkit runbook publish <file>`: to the end of the sentence. */
const AFTER_COLON = /: (matoolkit [a-z][^"'`\n(]*?)(?=[."'`\n(]|$)/gm

/** The program's own deeds, after a colon. */
const PROSE = /^matoolkit (?:makes|never|notifies) /

/** The commands that a source file has in its texts: in quotes, after a colon, or built. A value that is filled in counts as a word. */
function commandsInSource(source: string): string[] {
  const text = source
    .replaceAll(COMMENT, '')
    .replaceAll(/\$\{[^{}`]*\}/g, '<value>')
    .replaceAll(BUILT, '`matoolkit $1`')
  const quoted = [...text.matchAll(QUOTED)].map(([, command]) => command!)
  const after = [...text.matchAll(AFTER_COLON)].map(([, command]) => command!)
  return [
    ...quoted.filter((command) => !LABEL.test(command)),
    ...after.filter((command) => !PROSE.test(command)),
  ]
}

/** How many of these words are arguments, and no flags or values of flags. */
function countArguments({ options }: Command, words: readonly string[]): number {
  let count = 0
  let valued: Option | undefined
  for (const word of words) {
    if (word.startsWith('-')) valued = options.find((one) => [one.long, one.short].includes(word))
    else if (valued?.required) valued = valued.variadic ? valued : undefined
    else count += 1
  }
  return count
}

/** What is wrong with the command; null if nothing is. Words after the subcommand are arguments; one that is typed has all it needs. */
function whyUnknown(program: Command, command: string, isTyped = false): string | null {
  const words = command
    .replaceAll(/"[^"]*"/g, 'quoted')
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
  if (unknown.length > 0) return `${at.name()} has no ${unknown.join(', ')}`
  const needed = at.registeredArguments.filter(({ required }) => required)
  const isShort = isTyped && countArguments(at, words) < needed.length
  return isShort ? `${at.name()} needs ${needed.map((one) => one.name()).join(', ')}` : null
}

const program = new Command('matoolkit')
before(async () => {
  const io = processIo({
    packagedFunctions: async () => M365_CATALOGUE,
    runbookStarter: async () => M365_STARTER,
  })
  for (const add of await allCommands()) add(program, io)
})

const wrongAmong = (commands: readonly string[], isTyped = false): string[] =>
  commands.flatMap((command) => {
    const why = whyUnknown(program, command, isTyped)
    return why === null ? [] : [`${command}: ${why}`]
  })

describe('commands in documents', () => {
  for (const file of globSync('{*.md,docs/**/*.md,infra/**/*.md}', { cwd: ROOT }).toSorted()) {
    if (LEFT_OUT.includes(file)) continue
    it(`exist: ${file}`, () => {
      const { typed, named } = commandsIn(readFileSync(join(ROOT, file), 'utf8'))
      assert.deepEqual([...wrongAmong(typed, true), ...wrongAmong(named)], [])
    })
  }

  it('are found and judged', () => {
    const text =
      'Run `matoolkit dead-letter list`.\n\n```sh\nX=1 matoolkit batch get 7 --nothing | cat\n$ matoolkit batch get\n$ matoolkit hold --member 7 ada --reason "a b"\n```\n'
    const { typed, named } = commandsIn(text)
    assert.deepEqual(wrongAmong(named), [
      'matoolkit dead-letter list: matoolkit has no dead-letter',
    ])
    assert.deepEqual(wrongAmong(typed, true), [
      'matoolkit batch get 7 --nothing | cat: get has no --nothing',
      'matoolkit batch get: get needs id',
    ])
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
    const after = commandsInSource(
      `empty: 'No runbooks. Publish one: matoolkit runbook publsh <file>. Or none: matoolkit makes one.'`,
    )
    assert.deepEqual(wrongAmong(after), ['matoolkit runbook publsh <file>: runbook has no publsh'])
  })
})
