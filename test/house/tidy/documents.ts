// The documents: links lead somewhere, named files exist, and what is said of commands and dependencies is true.
import { posix } from 'node:path'
import type { SourceFile } from './source.ts'
import { importsOf, isCode } from './source.ts'
import type { Rule } from './walls.ts'

const RUNTIME_DEPENDENCIES_MAX = 13
/** Packages that no file of ours imports, and the file that needs them all the same. */
const NEEDED_BY = new Map([
  ['@biomejs/biome', 'biome.json'],
  ['@oazapfts/runtime', 'test/api/openapi.test.ts'],
])
const OF_TYPES = /^@types\//

const markdown = (files: readonly SourceFile[]) => files.filter(({ path }) => path.endsWith('.md'))
const textOf = (files: readonly SourceFile[], path: string): string =>
  files.find((file) => file.path === path)?.text ?? ''

/** The anchor that a heading gets: its letters, digits and hyphens in lower case, blanks as hyphens. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, title]) => title!)
  return new Set(
    headings.map((title) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

const links: Rule = {
  name: 'links in documents lead somewhere',
  check: (files) => {
    const paths = new Set(files.flatMap(({ path }) => foldersOf(path)))
    return markdown(files).flatMap((file) =>
      [...file.text.matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, link]) => link!)
        .filter((link) => !/^(https?|mailto):/.test(link))
        .filter((link) => {
          const [to, anchor] = link.split('#')
          const target = to
            ? posix.join(posix.dirname(file.path), to).replace(/\/$/, '')
            : file.path
          if (!paths.has(target)) return true
          return anchor !== undefined && !anchorsOf(textOf(files, target)).has(anchor)
        })
        .map((link) => `${file.path} links to ${link}, which is not there`),
    )
  },
}

/** A path and all the folders it stands in. */
function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

const NAMED_PATH =
  /`((?:src|test|sandbox|dashboard(?!\/dist)|sql|docs|scripts|bench|bin|examples)\/[\w./-]*\w\/?)`/g
/** `lease.ts`, `domain/state/holds.ts`: the end of a path. */
const PATH_END = /`((?:[\w-]+\/)*[\w-]+\.tsx?)`/g

const namedFiles: Rule = {
  name: 'files that documents name exist',
  check: (files) => {
    const paths = new Set(files.flatMap(({ path }) => foldersOf(path)))
    const isThere = (end: string) => files.some(({ path }) => `/${path}`.endsWith(`/${end}`))
    return markdown(files)
      .filter(({ path }) => path !== 'CHANGELOG.md')
      .flatMap((file) => {
        const named = [...file.text.matchAll(NAMED_PATH)].map(([, name]) =>
          name!.replace(/\/$/, ''),
        )
        const ends = [...file.text.matchAll(PATH_END)].map(([, end]) => end!)
        const gone = new Set([
          ...named.filter((name) => !paths.has(name)),
          ...ends.filter((end) => !isThere(end)),
        ])
        return [...gone].map((name) => `${file.path} names ${name}, which is not there`)
      })
  },
}

/** `one` (`path`), `one` and `two` (`path`), `one` in `path`: what they say is in that file or folder. */
const NAMED_IN =
  /((?:`\w+`(?:,|,? and|,? or)\s+)*`\w+`),?\s+(?:\(|in\s+|of\s+)`((?:src|test|sandbox|dashboard|scripts)\/[\w./-]+)`/g
const WORDS = /`(\w+)`/g

const isDeclaredIn = (name: string, { text }: SourceFile): boolean =>
  new RegExp(
    `\\b(?:function\\*?|const|class|interface|type) ${name}\\b|^ +(?:async )?#?${name}[(:]`,
    'm',
  ).test(text)

const namedFunctions: Rule = {
  name: 'what documents name next to a file is declared in it',
  check: (files) =>
    markdown(files).flatMap((file) =>
      [...file.text.matchAll(NAMED_IN)].flatMap(([, names, place]) => {
        const within = files.filter(
          ({ path }) => path === place || path.startsWith(`${place!.replace(/\/$/, '')}/`),
        )
        return [...names!.matchAll(WORDS)]
          .map(([, name]) => name!)
          .filter((name) => !within.some((one) => isDeclaredIn(name, one)))
          .map((name) => `${file.path} says that ${name} is in ${place}, which does not declare it`)
      }),
    ),
}

/** Sections that lead through the code, step by step. */
const WALK = /^## Walk \d.*\n([\s\S]*?)(?=^## |(?![\s\S]))/gm

const walks: Rule = {
  name: 'the walks of ARCHITECTURE.md name functions and words of the program',
  check: (files) => {
    const code = files.filter(({ path }) => path.startsWith('src/') && isCode(path))
    const steps = [...textOf(files, 'ARCHITECTURE.md').matchAll(WALK)].map(([, text]) => text!)
    return steps
      .flatMap((text) => [...text.matchAll(WORDS)].map(([, word]) => word!))
      .filter(
        (word) => !code.some((one) => isDeclaredIn(word, one) || one.text.includes(`'${word}'`)),
      )
      .map((word) => `ARCHITECTURE.md walks by ${word}, which is not in src`)
  },
}

const linkedDocuments: Rule = {
  name: 'every document can be found from another',
  check: (files) => {
    const linked = new Set(
      markdown(files).flatMap((file) =>
        [...file.text.matchAll(/\]\(([^)#\s]+)/g)].map(([, link]) =>
          posix.join(posix.dirname(file.path), link!),
        ),
      ),
    )
    return markdown(files)
      .filter(({ path }) => path.startsWith('docs/') && !linked.has(path))
      .map(({ path }) => `${path} is linked from nowhere`)
  },
}

const readme: Rule = {
  name: 'the README shows how to start and how to test',
  check: (files) =>
    ['npm start', 'npm test']
      .filter((command) => !new RegExp(`^${command}\\b`, 'm').test(textOf(files, 'README.md')))
      .map((command) => `README.md does not show "${command}" on a line of its own`),
}

type Manifest = Readonly<
  Record<'dependencies' | 'optionalDependencies' | 'devDependencies', Record<string, string>>
>

const dependencies: Rule = {
  name: 'dependencies are few, used, and argued for in docs/decisions.md',
  check: (files) => {
    const manifest = JSON.parse(textOf(files, 'package.json') || '{}') as Partial<Manifest>
    const [atRun, optional, atWork] = [
      manifest.dependencies,
      manifest.optionalDependencies,
      manifest.devDependencies,
    ].map((list) => Object.keys(list ?? {})) as [string[], string[], string[]]
    const all = [...atRun, ...optional, ...atWork]
    const table =
      textOf(files, 'docs/decisions.md').split('## Dependencies')[1]?.split('\n## ')[0] ?? ''
    const argued = [...table.matchAll(/^- ((?:`[^`]+`(?:, )?)+):/gm)].flatMap(([, names]) =>
      [...names!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
    )
    const sources = files.filter(({ path }) => path.startsWith('src/') && isCode(path))
    const used = new Set(sources.flatMap((file) => importsOf(file).map(({ target }) => target)))
    return [
      ...(atRun.length > RUNTIME_DEPENDENCIES_MAX
        ? [`${atRun.length} dependencies at run time`]
        : []),
      ...all.filter((name) => !argued.includes(name)).map((name) => `${name} is not argued for`),
      ...argued
        .filter((name) => !all.includes(name))
        .map((name) => `${name} is argued for but gone`),
      ...[...atRun, ...optional]
        .filter((name) => !used.has(name))
        .map((name) => `${name} is imported by nothing in src`),
      ...atWork
        .filter((name) => !isNamed(name, files))
        .map((name) => `${name} is imported by nothing`),
    ]
  },
}

/** By an import, or in quotes where a tool is started or resolved. Types are used with what they describe. */
function isNamed(name: string, files: readonly SourceFile[]): boolean {
  const needing = NEEDED_BY.get(name)
  if (needing !== undefined) return files.some(({ path }) => path === needing)
  const described = name.replace(OF_TYPES, '')
  const forms = [`'${described}'`, `'${described}/`, `'${described}:`, `/${described}/`]
  return files.some(({ path, text }) => isCode(path) && forms.some((form) => text.includes(form)))
}

const lockFile: Rule = {
  name: 'a lock file names no download addresses',
  check: (files) =>
    files
      .filter(({ path }) => posix.basename(path) === 'package-lock.json')
      .filter(({ text }) => /"resolved": "https?:/.test(text))
      .map(({ path }) => `${path} holds download addresses`),
}

export const DOCUMENTS: readonly Rule[] = [
  links,
  namedFiles,
  namedFunctions,
  walks,
  linkedDocuments,
  readme,
  dependencies,
  lockFile,
]
