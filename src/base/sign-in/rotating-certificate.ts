// A certificate that may be renewed while the process runs. It is read again before each request for a token, about once an hour. While the
// app registration does not know the new one yet, the one before still works: the order of the two renewals does not matter.

import { messageOf } from '../errors/errors.ts'
import type { Log } from '../log/log.ts'
import type { Clock } from '../run/clock.ts'
import type { SigningCertificate } from './certificate.ts'

export interface RotatingCertificate {
  /** Those to try, the newest first. */
  candidates(): Promise<readonly SigningCertificate[]>
}

export interface RotationEvents {
  onRenewed(certificate: SigningCertificate): void
  /** The one known so far is used. */
  onUnreadable(reason: string): void
}

/** Warn about a certificate that expires within this time. */
const WARNING_MS = 30 * 24 * 3_600_000

/** Reads it for the first time, which may throw, and logs its renewals and its coming end. `name` is "the … certificate". */
export async function openRotatingCertificate({
  name,
  place,
  read,
  clock,
  log,
}: {
  readonly name: string
  /** Where it is, for the log. */
  readonly place: string
  readonly read: () => Promise<SigningCertificate>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Pick<Log, 'info' | 'warn'>
}): Promise<RotatingCertificate> {
  const first = await read()
  const The = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
  const warnOfEnd = ({ certificate: { validToDate: endsAt } }: SigningCertificate) => {
    if (+endsAt - +clock.now() < WARNING_MS)
      log.warn({ place, endsAt }, `${The} expires within 30 days or has expired: renew it`)
  }
  warnOfEnd(first)
  return rotatingCertificate(first, read, {
    onRenewed: (renewed) => {
      log.info({ place, endsAt: renewed.certificate.validToDate }, `${The} was renewed`)
      warnOfEnd(renewed)
    },
    onUnreadable: (reason) =>
      log.warn({ place, reason }, `Cannot read ${name} again: using the one known`),
  })
}

export function rotatingCertificate(
  first: SigningCertificate,
  read: () => Promise<SigningCertificate>,
  { onRenewed, onUnreadable }: RotationEvents,
): RotatingCertificate {
  let known: readonly SigningCertificate[] = [first]
  return {
    candidates: async () => {
      try {
        const fresh = await read()
        if (fresh.thumbprint !== known[0]!.thumbprint) {
          known = [fresh, known[0]!]
          onRenewed(fresh)
        }
      } catch (error) {
        onUnreadable(messageOf(error))
      }
      return known
    },
  }
}
