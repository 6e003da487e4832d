// Exported names: each means one thing in src, and something uses it.
import { importsOf, isCode, type SourceFile, scan } from './source.ts'
import type { Rule } from './walls.ts'

/** Names that several files export, and why that is the same thing. An entry that is shared no more must go. */
export const SHARED: Readonly<Record<string, string>> = {}

const DECLARED =
  /^export\s+(?:declare\s+|abstract\s+|async\s+)*(function\s*\*?|const|let|class|interface|type|enum)\s+(\w+)/gm
const LISTED = /^export\s+(?:type\s+)?\{([^}]*)\}(?!\s*from)/gm

/** What a file itself exports, and whether it is only a type. What it passes on from another file is that file's. */
export function exportsOf(file: SourceFile): Map<string, 'type' | 'value'> {
  const { code } = scan(file)
  const listed = [...code.matchAll(LISTED)]
    .flatMap(([, names]) => names!.split(','))
    .map((name) =>
      name
        .trim()
        .split(/\s+as\s+/)
        .at(-1)!
        .replace(/^type\s+/, ''),
    )
    .filter((name) => name !== '')
  return new Map([
    ...listed.map((name) => [name, 'value'] as const),
    ...[...code.matchAll(DECLARED)].map(
      ([, kind, name]) => [name!, /^(?:interface|type)$/.test(kind!) ? 'type' : 'value'] as const,
    ),
  ])
}

const sourcesOf = (files: readonly SourceFile[]) =>
  files.filter(({ path }) => path.startsWith('src/') && isCode(path))

export function uniqueNames(shared: Readonly<Record<string, string>>): Rule {
  return {
    name: 'an exported name means one thing in src',
    check: (files) => {
      const places = new Map<string, string[]>()
      for (const file of sourcesOf(files)) {
        for (const name of exportsOf(file).keys())
          places.set(name, [...(places.get(name) ?? []), file.path])
      }
      const several = [...places].filter(([, paths]) => paths.length > 1)
      return [
        ...several
          .filter(([name]) => !Object.hasOwn(shared, name))
          .map(
            ([name, paths]) =>
              `${name} is exported by ${paths.join(' and ')}: rename one, or say in SHARED why it is the same thing`,
          ),
        ...Object.keys(shared)
          .filter((name) => places.size > 0 && (places.get(name)?.length ?? 0) < 2)
          .map((name) => `${name} is in SHARED and no longer shared: remove it there`),
      ]
    },
  }
}

const usedNames: Rule = {
  name: 'an exported name is used by another file',
  check: (files) => {
    const code = files.filter(({ path }) => isCode(path))
    const words = new Map(code.map((file) => [file.path, new Set(scan(file).code.match(/\w+/g))]))
    /** By its importers alone: a namesake elsewhere does not count as a use. */
    const importers = Map.groupBy(
      code.flatMap((file) => importsOf(file).map(({ target }) => ({ target, path: file.path }))),
      ({ target }) => target,
    )
    return sourcesOf(files).flatMap((file) => {
      const users = (importers.get(file.path) ?? []).map(({ path }) => words.get(path)!)
      // Nothing imports it: it is a dead file, or one that is loaded by its name.
      if (users.length === 0) return []
      const own = scan(file).code.match(/\w+/g) ?? []
      return (
        [...exportsOf(file)]
          .filter(([name]) => !users.some((user) => user.has(name)))
          // The type of an exported function's parameter or result is for its callers, named by them or not.
          .filter(
            ([name, kind]) => kind === 'value' || own.filter((word) => word === name).length < 2,
          )
          .map(
            ([name]) =>
              `${file.path} exports ${name}, which nothing else uses: make it private or remove it`,
          )
      )
    })
  },
}

export const NAMES: readonly Rule[] = [uniqueNames(SHARED), usedNames]
