// Writes a pack so that it survives a power cut: the whole file is on the disk before it gets its name.
import { readdirSync, rmSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { draftOf, OWNER_ONLY } from '../../../base/files/private-files.ts'

/** A file of that name is replaced. */
export async function writeFlushed(file: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
  removeDrafts(file)
  const draft = draftOf(file)
  const handle = await open(draft, 'wx', OWNER_ONLY)
  try {
    for await (const bytes of parts) await handle.writeFile(bytes)
    await handle.sync()
    await handle.close()
    await rename(draft, file)
    await flushFolder(dirname(file))
  } catch (error) {
    await handle.close().catch(() => {})
    rmSync(draft, { force: true })
    throw error
  }
}

/** What a killed run has left. */
function removeDrafts(file: string): void {
  const prefix = `.${basename(file)}.`
  for (const name of readdirSync(dirname(file)))
    if (name.startsWith(prefix)) rmSync(join(dirname(file), name), { force: true })
}

/** A new name is safe once its folder is. Windows cannot open a folder. */
async function flushFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
