// Memory of the providers' instances, in GiB, as the providers publish it. A node gets a scaled-down share of it.

export const awsInstances: Readonly<Record<string, number>> = {
  'm5.large': 8,
  'm5.xlarge': 16,
  'm5.2xlarge': 32,
  'm5.4xlarge': 64,
  'm5.8xlarge': 128,
  'm5.12xlarge': 192,
  'm5.16xlarge': 256,
  'm5.24xlarge': 384,
  'r5.large': 16,
  'r5.xlarge': 32,
  'r5.2xlarge': 64,
  'r5.4xlarge': 128,
  'r5.8xlarge': 256,
  'r5.12xlarge': 384,
  'r5.24xlarge': 768,
  'c5.large': 4,
  'c5.xlarge': 8,
  'c5.2xlarge': 16,
  'c5.4xlarge': 32,
  'c5.9xlarge': 72,
  'c5.12xlarge': 96,
  'c5.18xlarge': 144,
  'x1.16xlarge': 976,
  'x1.32xlarge': 1952,
};

export const azureInstances: Readonly<Record<string, number>> = {
  Standard_F4s_v2: 8,
  Standard_F8s_v2: 16,
  Standard_F16s_v2: 32,
  Standard_F32s_v2: 64,
  Standard_F48s_v2: 96,
  Standard_F64s_v2: 128,
  Standard_F72s_v2: 144,
  Standard_D4s_v3: 16,
  Standard_D8s_v3: 32,
  Standard_D16s_v3: 64,
  Standard_D32s_v3: 128,
  Standard_D48s_v3: 192,
  Standard_D64s_v3: 256,
  Standard_E4s_v3: 32,
  Standard_E8s_v3: 64,
  Standard_E16s_v3: 128,
  Standard_E20s_v3: 160,
  Standard_E32s_v3: 256,
  Standard_E48s_v3: 384,
  Standard_E64s_v3: 432,
  Standard_GS2: 56,
  Standard_GS3: 112,
  Standard_GS4: 224,
  Standard_GS5: 448,
};

/** GiB of the machine types of hosted clusters on Google's cloud. */
export const gcpInstances: Readonly<Record<string, number>> = {
  'n2-standard-2': 8,
  'n2-standard-4': 16,
  'n2-standard-8': 32,
  'n2-standard-16': 64,
  'n2-standard-32': 128,
  'n2-highmem-4': 32,
  'n2-highmem-8': 64,
  'n2-highmem-16': 128,
  'n2-highmem-32': 256,
  'n2-highcpu-8': 8,
  'n2-highcpu-16': 16,
  'n2-highcpu-32': 32,
};

const nodeMinMb = 256;

/** The memory of a node in MB for a requested instance with this memory in GiB. */
export const scaledMemoryMb = (instanceGib: number, scale: number): number =>
  Math.max(nodeMinMb, Math.floor(instanceGib * 1024 * scale));
