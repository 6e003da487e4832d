// The token of a sandbox's control endpoints, in a private file of the user while the sandbox runs.

import type { Sandbox } from '../../../sandbox/sandbox.ts'
import { writePrivateFile } from '../../base/files/private-files.ts'
import { inHome, removeFile, requireHomeFolder } from '../../cli/connection/home.ts'

type Control = Pick<Sandbox, 'url' | 'controlToken'>

/** Named by port: one sandbox at a time has it. */
export const sandboxTokenFile = ({ url }: Pick<Sandbox, 'url'>): string =>
  inHome(`sandbox-${new URL(url).port}.token`)

/** Returns the function that removes it. Throws FOLDER_UNSAFE. */
export function keepSandboxToken(control: Control): () => void {
  requireHomeFolder()
  const file = sandboxTokenFile(control)
  writePrivateFile(file, control.controlToken)
  return () => removeFile(file)
}

/** How to look into a sandbox, as a command for a shell. */
export const inspectCommand = (control: Pick<Sandbox, 'url'>, what: 'state' | 'journal'): string =>
  `curl -H "Authorization: Bearer $(cat "${sandboxTokenFile(control)}")" ${control.url}/_sandbox/${what}`
