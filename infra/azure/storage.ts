/** Two storage accounts without keys: one for the Functions host and the app's code, one for the state of jobs and the shop's files. */

import { ids, parameter, stateName, storageName } from './names.ts';

const account = (name: string) => ({
  type: 'Microsoft.Storage/storageAccounts',
  apiVersion: '2023-05-01',
  name: `[${name}]`,
  location: parameter('location'),
  kind: 'StorageV2',
  sku: { name: 'Standard_LRS' },
  properties: {
    allowBlobPublicAccess: false,
    allowSharedKeyAccess: false,
    minimumTlsVersion: 'TLS1_2',
    supportsHttpsTrafficOnly: true,
  },
});

const part = (
  accountName: string,
  type: string,
  path: string,
  dependsOn: string,
  properties: object = {},
) => ({
  type: `Microsoft.Storage/storageAccounts/${type}`,
  apiVersion: '2023-05-01',
  name: `[concat(${accountName}, '/${path}')]`,
  dependsOn: [`[${dependsOn}]`],
  properties,
});

/** Leftover payloads: of messages that were never sent, and of dead letters that were discarded or have expired. */
const leftOver = {
  policy: {
    rules: [
      {
        name: 'left-over-payloads',
        type: 'Lifecycle',
        definition: {
          filters: { blobTypes: ['blockBlob'], prefixMatch: ['claims/longshore/claims/'] },
          actions: { baseBlob: { delete: { daysAfterModificationGreaterThan: 120 } } },
        },
      },
    ],
  },
};

export const storageResources = [
  account(storageName),
  part(storageName, 'blobServices/containers', 'default/app-package', ids.storage),
  account(stateName),
  part(stateName, 'tableServices', 'default', ids.state),
  part(stateName, 'tableServices/tables', 'default/jobs', ids.tables),
  part(stateName, 'blobServices', 'default', ids.state),
  part(stateName, 'blobServices/containers', 'default/claims', ids.blobs),
  part(stateName, 'blobServices/containers', 'default/shop', ids.blobs),
  part(stateName, 'managementPolicies', 'default', ids.blobs, leftOver),
];
