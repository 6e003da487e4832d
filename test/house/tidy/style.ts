// The style: sizes, names, opening comments, and words that must not be left lying about.
import { basename } from 'node:path'
import { importsOf, isCode, lineOf, type SourceFile, scan } from './source.ts'
import type { Rule } from './walls.ts'

/** Guides with room: today the longest file has 342 and the longest function 46. Lines of a table, an object or arguments do not count. */
const FILE_STATEMENTS_MAX = 400
const FUNCTION_STATEMENTS_MAX = 50

const eachCode = (files: readonly SourceFile[], look: (file: SourceFile) => string[]) =>
  files.filter(({ path }) => isCode(path)).flatMap(look)

const fileLength: Rule = {
  name: `files have at most ${FILE_STATEMENTS_MAX} statements`,
  check: (files) =>
    eachCode(files, (file) => {
      const statements = statementLines(file).length
      return statements > FILE_STATEMENTS_MAX ? [`${file.path} has ${statements} statements`] : []
    }),
}

/** A line that opens a function's body, as the formatter leaves it. */
const FUNCTION_HEAD = /(?:=>|\)(?::\s.*[^<|&:(,\s])?)\s*$/
const NO_FUNCTION = /^\s*(?:\}\s*)?(?:if|else|for|while|switch|catch|with)\b/

/** Every function body as [first line, last line], counted from 1. */
export function functionBodies(file: SourceFile): [number, number][] {
  const lines = scan(file).code.split('\n')
  const open: { line: number; isFunction: boolean }[] = []
  const bodies: [number, number][] = []
  lines.forEach((text, index) => {
    for (const { 0: brace, index: at } of text.matchAll(/[{}]/g)) {
      const before = text.slice(0, at)
      const isFunction = FUNCTION_HEAD.test(before) && !NO_FUNCTION.test(text)
      if (brace === '{') open.push({ line: index + 1, isFunction })
      else {
        const opened = open.pop()
        if (opened?.isFunction) bodies.push([opened.line, index + 1])
      }
    }
  })
  return bodies
}

/** A brace that opens statements or members, as the formatter leaves it; any other opens an object. */
const BLOCK_HEAD =
  /(?:^|=>|\)(?::\s.*[^<|&:(,\s])?|[;{}]|\b(?:else|try|finally|do|static))\s*$|^\s*(?:export\s+)?(?:default\s+|abstract\s+|declare\s+)*(?:class|interface|enum)\b/
/** A line that continues the one before it. */
const CONTINUES = /^\s*(?:[.?:&|+*=)\]},]|-\s|\/\s|<\s)/

/** The numbers of the lines that begin a statement or a member; lines of an object, a list or arguments do not. */
export function statementLines(file: SourceFile): number[] {
  const open: boolean[] = []
  const found: number[] = []
  scan(file)
    .code.split('\n')
    .forEach((text, index) => {
      const isInBlock = open.at(-1) ?? true
      if (isInBlock && text.trim() !== '' && !CONTINUES.test(text)) found.push(index + 1)
      for (const { 0: bracket, index: at } of text.matchAll(/[{}()[\]]/g)) {
        if ('})]'.includes(bracket)) open.pop()
        else open.push(bracket === '{' && BLOCK_HEAD.test(text.slice(0, at)))
      }
    })
  return found
}

/** A function around tests only groups them; each of them is measured by itself. */
const isGroupOfTests = (file: SourceFile, [first, last]: [number, number]) =>
  file.path.startsWith('test/') &&
  /^\s*it\(/m.test(scan(file).code.split('\n').slice(first, last).join('\n'))

const functionLength: Rule = {
  name: `functions have at most ${FUNCTION_STATEMENTS_MAX} statements`,
  check: (files) =>
    eachCode(files, (file) => {
      const bodies = functionBodies(file)
      // Each statement belongs to the innermost function around it.
      const owners = statementLines(file).map((line) =>
        Math.max(
          0,
          ...bodies.filter(([first, last]) => first < line && line < last).map(([first]) => first),
        ),
      )
      return bodies
        .filter((body) => !isGroupOfTests(file, body))
        .map(([first]) => ({ first, count: owners.filter((owner) => owner === first).length }))
        .filter(({ count }) => count > FUNCTION_STATEMENTS_MAX)
        .map(({ first, count }) => `${file.path}:${first} a function has ${count} statements`)
    }),
}

/** `...{ a, b }` as an item of its own packs several lines into one; the formatter would give each its line. */
const PACKED =
  /(?:^|[,([{])\s*\.\.\.(?:\{[^{}()[\]]*\}|\[[^{}()[\]]*\]|\(\[[^[\]]*\]\s+as\s+const\))\s*(?=[,)\]}])/m

const packedSpreads: Rule = {
  name: 'no literal is spread where its items could stand',
  check: (files) =>
    eachCode(files, (file) => {
      const { code } = scan(file)
      const at = code.search(PACKED)
      return at < 0
        ? []
        : [
            `${file.path}:${lineOf(file.text, code.indexOf('...', at))} spreads a literal: write its items`,
          ]
    }),
}

/** The API's sentences have their parts next to them (`doing`, `isHeld`, `aboutWorker`); another wording must not change a decision. */
const TAKEN_APART =
  /\b(?:where|doing|because|why|aboutWorker)!?\??\.(?:split|slice|substring|replace|match|includes|indexOf|startsWith|endsWith)\(|\bkind!?\??\.(?:slice|replace)\(/

const wholeSentences: Rule = {
  name: 'nobody takes a sentence of the API apart, or makes a word from a kind',
  check: (files) =>
    eachCode(files, (file) => {
      if (!/^(?:src|dashboard)\//.test(file.path)) return []
      const { code } = scan(file)
      const at = code.search(TAKEN_APART)
      return at < 0
        ? []
        : [`${file.path}:${lineOf(file.text, at)} takes a sentence apart: give its parts`]
    }),
}

const MIN_OPENING_CHARS = 25

const FOLDED_COMPARISON = /\.toLowerCase\(\) [=!]==|[=!]== [\w.?!]+\.toLowerCase\(\)/

const equalNames: Rule = {
  name: 'equal names are told by sameName',
  check: (files) =>
    eachCode(files, (file) => {
      if (!/^(?:src|dashboard\/src)\//.test(file.path)) return []
      if (file.path === 'src/base/text/same-name.ts') return []
      const { code } = scan(file)
      const at = code.search(FOLDED_COMPARISON)
      return at < 0 ? [] : [`${file.path}:${lineOf(file.text, at)} folds a name: use sameName`]
    }),
}

const openingComment: Rule = {
  name: 'a file opens by saying what it promises',
  check: (files) =>
    files
      .filter(({ path }) => /^(src|scripts|bench|sql)\//.test(path))
      .filter(({ path }) => isCode(path) || path.endsWith('.sql'))
      .filter(({ path, text }) => {
        const mark = path.endsWith('.sql') ? /^--\s*/ : /^\/\/\s*/
        return !mark.test(text) || text.split('\n')[0]!.length < MIN_OPENING_CHARS
      })
      .map(({ path }) => `${path} does not open with a sentence in a comment`),
}

/** A person in Entra has a manager; nothing else does. */
const DRAWERS =
  /(?:^|[-.])(?:(?<!entra-|user-)manager|helpers?|utils?|impl|types|interfaces|shared|common|misc)\.\w+$/
const DRAWER_FOLDERS = /\/(?:helpers?|utils?|shared|common|misc|lib)\//
const EMPTY_NAMES = /\b\w*(?:(?<!Entra|User)Manager|Helper|Utils?|Impl)\b/

const names: Rule = {
  name: 'names are nouns of the domain and plain verbs, no drawers',
  check: (files) =>
    eachCode(files, (file) => {
      const { path } = file
      const drawer = DRAWERS.test(basename(path)) || DRAWER_FOLDERS.test(path)
      const kebab = /^[a-z0-9]+(?:[-.][a-z0-9]+)*$/.test(basename(path))
      const empty = scan(file).code.match(EMPTY_NAMES)?.[0]
      return [
        ...(drawer ? [`${path} is a drawer: put each thing next to its user`] : []),
        ...(kebab ? [] : [`${path} is not named in lower case with hyphens`]),
        ...(empty ? [`${path} has the name ${empty}, which says nothing`] : []),
      ]
    }),
}

/** Written in two halves so that this file does not break its own rules. */
const LEFTOVERS: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX'].join('|')})\\b`), 'unfinished work'],
  [new RegExp(`@ts-${'(?:ignore|nocheck|expect-error)'}`), 'a type check turned off'],
  [
    new RegExp(`(?:^|[\\s"'\`(])/${'work'}/|/${'home'}/\\w|/${'Users'}/\\w|/tmp/\\w`),
    'a machine path',
  ],
  [
    new RegExp(`registry\\.${'npm'}|${'jf' + 'rog'}|${'artifact' + 'ory'}|${'nex' + 'us'}\\.`, 'i'),
    'a registry',
  ],
]

const leftovers: Rule = {
  name: 'nothing unfinished, switched off or of one machine is left lying about',
  check: (files) =>
    files.flatMap(({ path, text }) =>
      LEFTOVERS.map(([pattern, what]) => ({ what, at: text.search(pattern) }))
        .filter(({ at }) => at >= 0)
        .map(({ what, at }) => `${path}:${lineOf(text, at)} holds ${what}`),
    ),
}

const ANY = /(?:[:<,|&(]|\bas)\s*any\b(?!\s*[(:.])/
const UNRUN = /\b(?:it|describe|suite)\.(?:skip|only|todo)\b|\b(?:skip|only|todo): true\b/

const unchecked: Rule = {
  name: 'no value is unchecked and no test unrun',
  check: (files) =>
    eachCode(files, (file) => {
      const { code } = scan(file)
      return [
        ...(ANY.test(code) ? [`${file.path} uses the type that checks nothing`] : []),
        ...(file.path.startsWith('test/') && UNRUN.test(code)
          ? [`${file.path} has a test unrun`]
          : []),
      ]
    }),
}

/** The client talks to the API that its caller chose, and runs in browsers; what a template or a file gives is no answer of others. */
const READS_ITSELF =
  /^src\/(?:base\/run\/read-answer|api\/client\/transport|cli\/commands\/template|db\/schema\/disposable-pglite)\.ts$/
const READING = /\.(?:text|json|arrayBuffer|blob|bytes)\(\)/

const foreignAnswers: Rule = {
  name: 'answers of others are read by src/base/run/read-answer.ts only',
  check: (files) =>
    files
      .filter(({ path }) => path.startsWith('src/') && isCode(path) && !READS_ITSELF.test(path))
      .filter((file) => READING.test(scan(file).code.replaceAll(/\bz\s*\.(?:text|json)\(\)/g, '')))
      .map(({ path }) => `${path} reads an answer without a limit`),
}

/** Started by name, not imported. */
const ENTRIES =
  /^src\/main\.ts$|^dashboard\/(?:vite\.config\.ts|src\/main\.tsx)$|^src\/db\/connection\/snapshot-check\.ts$|^src\/api\/services\/runbook-thread\.ts$|^bench\/(?:main|broker-process|raw-loop)\.ts$|^(?:infra\/)?scripts\/|^bin\/|^examples\/|\.test\.ts$|^test\/kit\/(?:global-setup|run-files)\.ts$|^test\/proof\/delivery\/same-table\.ts$|\/fixtures\//

const deadFiles: Rule = {
  name: 'no dead files',
  check: (files) => {
    const code = files.filter(({ path }) => isCode(path))
    const imported = new Set(code.flatMap((file) => importsOf(file).map(({ target }) => target)))
    return code
      .filter(({ path }) => !ENTRIES.test(path) && !imported.has(path))
      .map(({ path }) => `${path} is imported by nothing`)
  },
}

const migrations: Rule = {
  name: 'migrations are numbered without gaps',
  check: (files) =>
    files
      .filter(({ path }) => path.startsWith('sql/'))
      .map(({ path }) => path)
      .sort()
      .filter((path, index) => !path.startsWith(`sql/${String(index + 1).padStart(3, '0')}_`))
      .map((path) => `${path} does not continue the numbers`),
}

const cleanText: Rule = {
  name: 'text has no tabs, no blanks at line ends, and a line end at the end',
  check: (files) =>
    files
      .filter(
        ({ path }) =>
          /\.(ts|tsx|mjs|md|sql|json|ya?ml)$/.test(path) && !path.includes('/fixtures/'),
      )
      .filter(({ text }) => /\t|[ \r]\n|\n\n$/.test(text) || !text.endsWith('\n'))
      .map(({ path }) => `${path} has untidy blanks`),
}

export const STYLE: readonly Rule[] = [
  fileLength,
  functionLength,
  packedSpreads,
  wholeSentences,
  equalNames,
  openingComment,
  names,
  leftovers,
  unchecked,
  foreignAnswers,
  deadFiles,
  migrations,
  cleanText,
]
