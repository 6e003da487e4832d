// Reads a secret where the settings say it is. Read at each attempt, so a renewed one counts at once; the message of a fault names the place and
// never the content.
import { readFile } from 'node:fs/promises'
import { messageOf } from '../../base/errors/errors.ts'
import { readNotifyVariable } from '../../base/settings/config.ts'
import type { SecretPlace } from '../../domain/notifications/rules.ts'

/** A person mends it; until then messages wait. */
export class BadSecret extends Error {}

export async function secretAt(place: SecretPlace): Promise<string> {
  if ('variable' in place) {
    const value = readNotifyVariable(place.variable)?.trim()
    if (!value) throw new BadSecret(`The variable ${place.variable} is not set`)
    return value
  }
  return (await fileAt(place.file)).toString('utf8').trim()
}

export async function fileAt(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw new BadSecret(`The file ${file} cannot be read: ${messageOf(error)}`)
  }
}
