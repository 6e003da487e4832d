// A real PowerShell, if the machine has one: `pwsh` on the path. `npm test` needs none.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const VERSION_MS_MAX = 60_000

/** Its version, such as `7.6.5`, or null. */
export async function pwshVersion(): Promise<string | null> {
  const asking = ['-NoLogo', '-NoProfile', '-Command', '$PSVersionTable.PSVersion.ToString()']
  return promisify(execFile)('pwsh', asking, { timeout: VERSION_MS_MAX }).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  )
}

export const NO_PWSH = 'left out: there is no pwsh'
