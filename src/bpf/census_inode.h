/* What the programs that come to an inode tell of it. */
#pragma once

#include "census_pins_abi.h"
#include "census_read.h"

static __always_inline void inode_describe(__u64 address, struct census_pin *ret)
{
	struct inode *inode = (void *)address;
	struct super_block *sb = 0;
	unsigned long magic = 0;

	ret->inode = address;
	if (bpf_core_field_size(inode->i_ino) == 8)
		bpf_core_read(&ret->ino, 8, &inode->i_ino);
	READ(ret->nlink, &inode->i_nlink);
	READ(ret->generation, &inode->i_generation);
	READ(sb, &inode->i_sb);
	READ(ret->dev, &sb->s_dev);
	READ(magic, &sb->s_magic);
	ret->magic = magic;
	if (ret->magic == CENSUS_BDEV_MAGIC) /* the device itself, not the pseudo file system */
		READ(ret->dev, &inode->i_rdev);
}
