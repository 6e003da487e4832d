// Where PowerShell modules lie in a folder of custom functions: as files, or in folders of their own name, as PowerShell installs them.

import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sameName } from '../../base/text/same-name.ts'

/** Paths to import. A manifest stands for its module: it names the file that is loaded. */
export async function findPowerShellModules(folder: string): Promise<string[]> {
  const entries = await entriesOf(folder)
  const loose = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name)
  const found = withManifests(loose).map((name) => join(folder, name))
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const files = (await entriesOf(join(folder, name))).map((entry) => entry.name)
    const own = files.filter((file) => sameName(baseOf(file), name))
    for (const file of withManifests(own)) found.push(join(folder, name, file))
  }
  return found.sort()
}

const MODULE = /\.ps(?:m|d)1$/i
const baseOf = (file: string): string => file.replace(MODULE, '')
const isManifest = (file: string): boolean => /\.psd1$/i.test(file)

function withManifests(files: readonly string[]): string[] {
  const modules = files.filter((file) => MODULE.test(file) && !file.startsWith('.'))
  const manifests = new Set(modules.filter(isManifest).map((file) => baseOf(file).toLowerCase()))
  return modules.filter((file) => isManifest(file) || !manifests.has(baseOf(file).toLowerCase()))
}

/** A folder that cannot be read has been reported already. */
const entriesOf = (folder: string): Promise<Dirent[]> =>
  readdir(folder, { withFileTypes: true }).catch(() => [])
