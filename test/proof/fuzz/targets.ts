// The targets by name.
import { openApiTarget } from './api.ts'
import { openCsv } from './csv.ts'
import { openMessages } from './messages.ts'
import type { FuzzTarget } from './target.ts'
import { openYaml } from './yaml.ts'

export const TARGETS: Readonly<Record<string, () => Promise<FuzzTarget>>> = {
  yaml: openYaml,
  csv: openCsv,
  messages: openMessages,
  api: openApiTarget,
}
