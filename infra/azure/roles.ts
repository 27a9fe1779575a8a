/** What the app's own identity may do. */

import { ids, named, parameter } from './names.ts';

/** Roles that Azure has everywhere under these ids. */
export const roles = {
  // Not Sender and Receiver: without its right to manage, the scaler guesses by peeking at the first few messages, and a
  // queue that begins with delayed ones gets too few instances.
  'Azure Service Bus Data Owner': '090c5cfd-751d-490a-894a-3ce6f1109419',
  'Storage Blob Data Owner': 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3',
  'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
  'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb',
} as const;

const grants: readonly [role: keyof typeof roles, scope: keyof typeof ids][] = [
  ['Azure Service Bus Data Owner', 'namespace'],
  ['Storage Blob Data Owner', 'storage'],
  ['Storage Table Data Contributor', 'table'],
  ['Storage Blob Data Contributor', 'claims'],
  ['Storage Blob Data Contributor', 'shop'],
  ['Monitoring Metrics Publisher', 'insights'],
];

const roleAssignment = ([role, scope]: (typeof grants)[number]) => ({
  type: 'Microsoft.Authorization/roleAssignments',
  apiVersion: '2022-04-01',
  name: `[guid(${ids[scope]}, parameters('principalId'), '${roles[role]}')]`,
  scope: `[${ids[scope]}]`,
  properties: {
    roleDefinitionId: `[subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '${roles[role]}')]`,
    principalId: parameter('principalId'),
    principalType: 'ServicePrincipal',
    description: `${role} for the function app`,
  },
});

/**
 * A deployment inside the deployment. An app that is made again has another identity, and so needs assignments of other names: Azure
 * changes the identity of none. But a name may not depend on what is known only while the template is deployed, as identities are;
 * on a parameter it may.
 */
export const rolesDeployment = {
  type: 'Microsoft.Resources/deployments',
  apiVersion: '2022-09-01',
  name: named('-roles'),
  dependsOn: [ids.site, ...grants.map(([, scope]) => ids[scope])].map((id) => `[${id}]`),
  properties: {
    mode: 'Incremental',
    expressionEvaluationOptions: { scope: 'Inner' },
    parameters: {
      name: { value: parameter('name') },
      principalId: { value: `[reference(${ids.site}, '2024-04-01', 'full').identity.principalId]` },
    },
    template: {
      $schema: 'https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#',
      contentVersion: '1.0.0.0',
      parameters: { name: { type: 'string' }, principalId: { type: 'string' } },
      resources: grants.map(roleAssignment),
    },
  },
};
