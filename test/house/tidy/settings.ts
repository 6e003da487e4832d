// A setting that nothing reads misleads the person who sets it. Every key of the tables of settings must be read from the configuration
// somewhere else in src.
import { isCode, type SourceFile, scan } from './source.ts'
import type { Rule } from './walls.ts'

const TABLE = /^src\/base\/settings\/[a-z]+\.ts$/
const KEY = /^ {2}(\w+): setting[<(]/gm
/** Names the config file; config.ts reads it from the environment before there is a configuration. */
const READ_BY_CONFIG = 'configFile'

export const settingKeys = (files: readonly SourceFile[]): string[] =>
  files
    .filter(({ path }) => TABLE.test(path))
    .flatMap(({ text }) => [...text.matchAll(KEY)].map(([, key]) => key!))

const ACCESS = /(?:\w*[cC]onfig|\benv|SETTINGS|readClientEnv\(\))\??\.(\w+)/g
const DESTRUCTURED =
  /\{([^{}]*)\}\s*(?:=\s*(?:\w+\.)*\w*[cC]onfig\b|:\s*(?:\w*Config\b|Pick<\s*\w*Config\b))|\bconfig:\s*\{([^{}]*)\}/g

/** Keys that the code takes from a configuration: `config.a`, `{ a, b: c } = config`, `({ a }: Config)`. */
function keysRead(file: SourceFile): string[] {
  const { code } = scan(file)
  const accessed = [...code.matchAll(ACCESS)].map(([, key]) => key!)
  const patterns = [...code.matchAll(DESTRUCTURED)].map(([, taken, nested]) => taken ?? nested!)
  const names = patterns.flatMap((pattern) =>
    pattern.split(',').map((part) => part.split(':')[0]!.trim()),
  )
  return [...accessed, ...names]
}

const everySettingIsRead: Rule = {
  name: 'every setting is read',
  check: (files) => {
    const readers = files.filter(
      ({ path }) => path.startsWith('src/') && isCode(path) && !TABLE.test(path),
    )
    const read = new Set([READ_BY_CONFIG, ...readers.flatMap(keysRead)])
    return settingKeys(files)
      .filter((key) => !read.has(key))
      .map((key) => `no code reads the setting ${key}`)
  },
}

export const SETTINGS_RULES: readonly Rule[] = [everySettingIsRead]
