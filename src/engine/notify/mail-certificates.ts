// The certificates by which mail channels sign in, from PEM or PFX files or the Key Vault. Each is opened with its first message and then read
// again before every request for a token, as a worker's is: a renewed one counts within the hour, without a restart.

import { messageOf } from '../../base/errors/errors.ts'
import type { Log } from '../../base/log/log.ts'
import type { Clock } from '../../base/run/clock.ts'
import { readCertificate, type SigningCertificate } from '../../base/sign-in/certificate.ts'
import {
  openRotatingCertificate,
  type RotatingCertificate,
} from '../../base/sign-in/rotating-certificate.ts'
import type { CertificatePlace } from '../../domain/notifications/rules.ts'
import { BadSecret, fileAt, secretAt } from './secret-place.ts'

export interface MailCertificates {
  /** Throws BadSecret while it cannot be read. */
  of(channel: string, place: CertificatePlace): Promise<RotatingCertificate>
}

export interface MailCertificateOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly log: Pick<Log, 'info' | 'warn'>
  /** A certificate of the Key Vault, as it stores it. */
  readonly readVault: (name: string) => Promise<Buffer>
}

export function openMailCertificates({
  clock,
  log,
  readVault,
}: MailCertificateOptions): MailCertificates {
  const opened = new Map<string, RotatingCertificate>()
  return {
    of: async (channel, certificate) => {
      const known = opened.get(channel)
      if (known) return known
      const { at } = certificate
      const place = 'file' in at ? at.file : `the Key Vault under "${at.vaultName}"`
      const fresh = await openRotatingCertificate({
        name: `the certificate of channel ${channel}`,
        place,
        clock,
        log,
        read: () => read(certificate, readVault),
      }).catch((error: unknown) => {
        throw new BadSecret(`The certificate in ${place} is unusable: ${messageOf(error)}`)
      })
      opened.set(channel, fresh)
      return fresh
    },
  }
}

async function read(
  { at, password }: CertificatePlace,
  readVault: MailCertificateOptions['readVault'],
): Promise<SigningCertificate> {
  const bytes = 'file' in at ? await fileAt(at.file) : await readVault(at.vaultName)
  return readCertificate({ bytes, password: password ? await secretAt(password) : '' })
}
